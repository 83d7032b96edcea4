./llama-server.exe `
  --model "C:\models\x.gguf" `
  -fa -ngl all --api-key <key>
