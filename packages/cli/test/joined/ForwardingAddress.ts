/** Another address of a Hub. What a test does before a request reaches the Hub happens between two requests of the client. */
import { onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"

/** `before`: with the method and the path of a request. */
export const openForwardingAddress = async (
  hub: string,
  before: (method: string, path: string) => Promise<void>
): Promise<string> => {
  const server = createServer((received, response) => {
    const { headers, method = "GET", url: path = "/" } = received
    void before(method, path).then(() => {
      const to = { method, headers: { ...headers, host: new URL(hub).host } }
      const sent = request(new URL(path, hub), to, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.on("error", () => response.destroy()).pipe(response)
        response.once("close", () => answer.destroy())
      })
      sent.on("error", () => response.destroy())
      received.pipe(sent)
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
}
