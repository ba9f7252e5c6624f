/** Events as a platform sends them, whether or not the last one was answered: an open loop. */
import { Agent, request } from "node:http"
import { pushedMessage, type SentBotMessage } from "@corral/testing/gateway/FakeFeishu"

export const CHATS = 200

/** The platform's id of one of `messages`. */
export const idOf = (prefix: string, at: number): string => `${prefix}-${at}`

/** Signed and encrypted messages of chats in turn: made before any is sent. */
export const messages = (prefix: string, count: number): ReadonlyArray<SentBotMessage> =>
  Array.from({ length: count }, (_, at) => pushedMessage(idOf(prefix, at), "go on", `oc_${at % CHATS}`))

export interface Answered {
  /** From when the event was due. */
  readonly millis: number
  /** 200. Anything else makes a platform send it again. */
  readonly acknowledged: boolean
}

const send = (agent: Agent, url: string, { body, headers }: SentBotMessage, due: number): Promise<Answered> =>
  new Promise((resolve) => {
    const sending = request(
      url,
      { method: "POST", agent, headers: { ...headers, "content-length": body.length } },
      (response) => {
        response.resume()
        resolve({ millis: performance.now() - due, acknowledged: response.statusCode === 200 })
      }
    )
    // The server closed the connection: a platform sends the event again.
    sending.once("error", () => resolve({ millis: performance.now() - due, acknowledged: false }))
    sending.end(body)
  })

/** Sends `atOnce` events at a time, each when the one before is answered. */
export const sendInLanes = async (
  url: string,
  sent: ReadonlyArray<SentBotMessage>,
  atOnce: number
): Promise<void> => {
  const agent = new Agent({ keepAlive: true, maxSockets: atOnce })
  const left = sent.values()
  const lane = async (): Promise<void> => {
    for (const each of left) {
      const { acknowledged } = await send(agent, url, each, performance.now())
      if (!acknowledged) throw new Error(`${url} refused an event`)
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, lane))
  } finally {
    agent.destroy()
  }
}

/** Sends a number of events per second, or all at once. Returns the responses in order. */
export const sendAll = async (
  url: string,
  sent: ReadonlyArray<SentBotMessage>,
  perSecond = Number.POSITIVE_INFINITY
): Promise<ReadonlyArray<Answered>> => {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const begin = performance.now()
  const answers: Array<Promise<Answered>> = []
  try {
    for (const [at, each] of sent.entries()) {
      const due = begin + (at * 1_000) / perSecond
      const early = due - performance.now()
      // Timers are late by a millisecond or more. Events that are due are sent now, and their time counts from when they were due.
      if (early > 0) await new Promise((resolve) => setTimeout(resolve, early))
      answers.push(send(agent, url, each, due))
    }
    return await Promise.all(answers)
  } finally {
    agent.destroy()
  }
}
