/** From the request for a task until a client has the first event of its run. */
import { once } from "node:events"
import { WebSocket } from "ws"
import type { LinkPair } from "./LinkPair.ts"

/** Milliseconds of one task. */
export type FirstEvent = () => Promise<number>

const open = async (url: string, token: string): Promise<WebSocket> => {
  const socket = new WebSocket(url.replace("http", "ws"), {
    perMessageDeflate: false,
    headers: { authorization: `Bearer ${token}` }
  })
  await once(socket, "open")
  return socket
}

/** Over a Hub, as a client sees it that follows the session. */
export const firstEventOver = async (
  { hub, projectId, signedInCall, token }: LinkPair,
  targetId: string
): Promise<FirstEvent> => {
  const { id: sessionId } = await signedInCall<{ readonly id: string }>("POST", "/client/sessions", {
    projectId,
    title: "First event"
  })
  const socket = await open(`${hub.url}/client/events?sessionId=${sessionId}`, token)
  const next = (type: string): Promise<number> =>
    new Promise((resolve) => {
      const receive = (data: Buffer) => {
        if (!data.includes(`"type":"${type}"`)) return
        socket.off("message", receive)
        resolve(performance.now())
      }
      socket.on("message", receive)
    })
  return async () => {
    const [created, completed] = [next("run.created"), next("run.completed")]
    const begin = performance.now()
    await signedInCall("POST", "/web/agent-tasks", {
      projectId,
      sessionId,
      targetId,
      workspace: "bench",
      agentId: "scripted",
      mode: "ask",
      input: { text: "/say hello" }
    })
    const arrived = await created
    await completed
    return arrived - begin
  }
}

/** Over the bare program, which streams a run that the client names. */
export const bareFirstEvent =
  (url: string, start: (text: string) => Promise<string>): FirstEvent =>
  async () => {
    const begin = performance.now()
    const socket = await open(`${url}/client/events?runId=${await start("/say hello")}`, "none")
    await once(socket, "message")
    const taken = performance.now() - begin
    socket.terminate()
    return taken
  }
