// Stores the page for use without a network. The name changes with the page's content, so that a new page replaces the old one.
const name = "kvplan-@HASH@";
const pages = ["./", "models.html"];
addEventListener("install", (event) => event.waitUntil(caches.open(name).then((cache) => cache.addAll(pages)).then(() => skipWaiting())));
addEventListener("activate", (event) =>
  event.waitUntil(caches.keys().then((keys) => Promise.all(keys.filter((key) => key.startsWith("kvplan-") && key !== name).map((key) => caches.delete(key)))).then(() => clients.claim())));
addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || new URL(event.request.url).origin !== location.origin) return; // the Hub's
  event.respondWith(caches.match(event.request, { ignoreSearch: true, cacheName: name }).then((kept) => kept ?? fetch(event.request)));
});
