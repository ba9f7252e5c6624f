/** From the request for a task, or a message to an agent, until a client has the first event of its run. */
import { once } from "node:events"
import { WebSocket } from "ws"
import type { LinkPair } from "./LinkPair.ts"

/** Milliseconds of one task. */
export type FirstEvent = () => Promise<number>

export const openSocket = async (url: string, token: string): Promise<WebSocket> => {
  const socket = new WebSocket(url.replace("http", "ws"), {
    perMessageDeflate: false,
    headers: { authorization: `Bearer ${token}` }
  })
  await once(socket, "open")
  return socket
}

/** From a request until `run.created` of its run arrives at a socket that is open already. The next request waits for the end of the run. */
const firstEventAt = (socket: WebSocket, request: () => Promise<unknown>): FirstEvent => {
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
  return firstEventAt(await openSocket(`${hub.url}/client/events?sessionId=${sessionId}`, token), request)
}

/** An agent of a session, without its device. */
export const agent = { workspace: "bench", agentId: "scripted", mode: "ask" }

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

/** Over the bare program, as a client sees it that follows all runs. */
export const bareFirstEvent = async (
  url: string,
  start: (text: string) => Promise<string>
): Promise<FirstEvent> =>
  firstEventAt(await openSocket(`${url}/client/events?all`, "none"), () => start("/say hello"))
