// Browsers start no worker for a page that was opened as a file. There the search runs in a hidden
// frame instead, which takes the same messages.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const base = new URL(url, location.href)
      const load = (address) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script")
          Object.assign(script, { src: new URL(address, base), onload: done, onerror: failed })
          inside.document.body.append(script)
        })
      inside.importScripts = async (...addresses) => {
        for (const address of addresses) await load(address)
      }
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }))
      const ready = load(base)
      this.postMessage = (data) =>
        ready.then(() => inside.dispatchEvent(new MessageEvent("message", { data })))
      this.terminate = () => frame.remove()
    }
  }
}
