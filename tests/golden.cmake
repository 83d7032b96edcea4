# Reports that must not change by accident: a table and a JSON for a bundled model and a request. They show that a
# report is unchanged, not that it is right. To accept a change on purpose: KVPLAN_UPDATE_GOLDEN=1 ctest -R '^golden'
function(add_golden name model)
  add_test(NAME golden_${name}
    COMMAND sh tests/golden.sh $<TARGET_FILE:kvplan> ${name} testdata/configs/${model}.json ${ARGN}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()

add_golden(llama-3.1-8b-logical llama-3.1-8b --max-model-len 32k --gpu-memory 24GiB)
add_golden(deepseek-v3-logical deepseek-v3 --max-model-len 32k --num-seqs 4)
add_golden(falcon-h1-1.5b-logical falcon-h1-1.5b --max-model-len 16k --num-seqs 2)
add_golden(whisper-medium-logical whisper-medium)
add_golden(llama-3.1-8b-vllm llama-3.1-8b --engine vllm --max-model-len 32k --gpu-memory 80GiB -tp 2)
add_golden(gemma-4-26b-vllm gemma-4-26b --engine vllm --max-model-len 16k --gpu-memory 80GiB)
add_golden(gpt-oss-20b-vllm gpt-oss-20b --engine vllm --max-model-len 64k --gpu-memory 24GiB)
add_golden(qwen3-0.6b-llamacpp qwen3-0.6b --engine llama.cpp -c 16k -np 2 -ctk q8_0 -ctv q8_0 --gpu-memory 8GiB)
add_test(NAME golden_keys COMMAND sh tests/golden_keys.sh $<TARGET_FILE:kvplan> WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
