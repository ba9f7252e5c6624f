/** From the request for a task, or a message to an agent, until a client has the first event of its run. */
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

/** As a client sees it that follows a new session. `request` starts a run in the session. */
const firstEventOf = async (
  { hub, projectId, signedInCall, token }: LinkPair,
  prepare: (sessionId: string) => Promise<() => Promise<unknown>>
): Promise<FirstEvent> => {
  const { id: sessionId } = await signedInCall<{ readonly id: string }>("POST", "/client/sessions", {
    projectId,
    title: "First event"
  })
  const request = await prepare(sessionId)
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
    await request()
    const arrived = await created
    await completed
    return arrived - begin
  }
}

const agent = { workspace: "bench", agentId: "scripted", mode: "ask" }

/** Of a task at a Hub. */
export const firstEventOver = (pair: LinkPair, targetId: string): Promise<FirstEvent> =>
  firstEventOf(pair, (sessionId) =>
    Promise.resolve(() =>
      pair.signedInCall("POST", "/web/agent-tasks", {
        projectId: pair.projectId,
        sessionId,
        targetId,
        ...agent,
        input: { text: "/say hello" }
      })
    )
  )

/** Of a message to an agent of a session at a Hub. The first run of the agent is not measured. */
export const firstEventOfMessage = async (pair: LinkPair, targetId: string): Promise<FirstEvent> => {
  const first = await firstEventOf(pair, async (sessionId) => {
    const path = `/client/sessions/${sessionId}`
    await pair.signedInCall("POST", `${path}/agents`, { targetId, ...agent })
    return () => pair.signedInCall("POST", `${path}/messages`, { text: "/say hello", onOffline: "queue" })
  })
  await first()
  return first
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
