/** Another address of a Hub. What a test does before a request or its response is forwarded happens before the client continues. */
import { onTestFinished } from "@effect/vitest"
import { once } from "node:events"
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

type Step = (method: string, path: string) => Promise<void>

const nothing: Step = () => Promise.resolve()

/** `before`: before a request is forwarded. `after`: before its response is. */
export const openForwardingAddress = async (
  hub: string,
  { after = nothing, before = nothing }: { readonly before?: Step; readonly after?: Step }
): Promise<string> => {
  const pass = async (received: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { headers, method = "GET", url: path = "/" } = received
    await before(method, path)
    const to = { method, headers: { ...headers, host: new URL(hub).host } }
    const sent = request(new URL(path, hub), to)
    sent.on("error", () => response.destroy())
    sent.once("response", (answer) => void pipeBack(method, path, answer, response))
    received.pipe(sent)
  }
  const pipeBack = async (
    method: string,
    path: string,
    answer: IncomingMessage,
    response: ServerResponse
  ): Promise<void> => {
    await after(method, path)
    response.writeHead(answer.statusCode ?? 502, answer.headers)
    response.once("close", () => answer.destroy())
    answer.on("error", () => response.destroy()).pipe(response)
  }
  const server = createServer((received, response) => void pass(received, response)).listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}` // it listens on TCP
}
