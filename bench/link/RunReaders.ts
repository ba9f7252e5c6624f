/**
 * Two clients of a Hub that follow one run: the console with the run's event stream, and an editor with the chat of its session. Each notes how long every
 * streamed text was under way.
 *
 * Both look for the time that the program has written into its text, and parse nothing else of it, so that neither client becomes what is measured.
 */
import { once } from "node:events"
import { get, type IncomingMessage } from "node:http"
import type { WebSocket } from "ws"
import { openSocket } from "./FirstEvent.ts"
import type { LinkPair } from "./LinkPair.ts"

/** What a client has received of a run. */
export class Arrivals {
  /** Milliseconds from the program's write, one for each text. */
  readonly latencies: Array<number> = []
  /** Texts that arrived again. */
  repeated = 0
  private readonly times = new Set<string>()
  private readonly onText: () => void

  constructor(onText: () => void) {
    this.onText = onText
  }

  /** Takes the texts in a part of the stream. */
  take(part: string, arrived: bigint): void {
    for (const [, time = ""] of part.matchAll(/(\d{12,}) x/g)) {
      if (this.times.has(time)) {
        this.repeated++
        continue
      }
      this.times.add(time)
      this.latencies.push(Number(arrived - BigInt(time)) / 1e6)
      this.onText()
    }
  }
}

export interface RunReader {
  /** Resolves when the run has ended. */
  readonly ended: Promise<unknown>
  readonly close: () => void
}

/** Follows a run as the console does. */
export const readAsConsole = async (
  { hub, token }: LinkPair,
  runId: string,
  arrivals: Arrivals
): Promise<RunReader> => {
  const request = get(`${hub.url}/client/runs/${runId}/events?after=0`, {
    agent: false,
    headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" }
  })
  const [response] = (await once(request, "response")) as [IncomingMessage]
  if (response.statusCode !== 200) throw new Error(`the run's stream answered ${response.statusCode}`)
  let rest = ""
  response.setEncoding("utf8").on("data", (chunk: string) => {
    const arrived = process.hrtime.bigint()
    const parts = (rest + chunk).split("\n\n")
    rest = parts.pop() ?? ""
    for (const part of parts) if (part.includes('"type":"run.message.delta"')) arrivals.take(part, arrived)
  })
  return { ended: once(response, "end"), close: () => request.destroy() }
}

type Snapshot = { readonly snapshot: { readonly state: { readonly defaultChat: string } } }

/** The window of an editor. It can follow one session after the other. */
export class EditorReader {
  private readonly socket: WebSocket
  private readonly answers = new Map<number, (message: string) => void>()
  private lastId = 0
  private onAction: (action: string) => void = () => undefined

  private constructor(socket: WebSocket) {
    this.socket = socket
    socket.on("message", (data: Buffer) => {
      const message = data.toString("utf8")
      if (message.startsWith('{"jsonrpc":"2.0","method":"action"')) return this.onAction(message)
      const [, id] = /^\{"jsonrpc":"2.0","id":(\d+)/.exec(message) ?? []
      this.answers.get(Number(id))?.(message)
    })
  }

  /** Connects for a workspace of the project. A window with the same id ends. */
  static async open(
    { hub, projectId, token }: LinkPair,
    clientId: string,
    place: { readonly targetId: string; readonly workspace: string }
  ): Promise<EditorReader> {
    const query = new URLSearchParams({ projectId, ...place, folder: "/bench" })
    const reader = new EditorReader(await openSocket(`${hub.url}/client/ahp?${query}`, token))
    await reader.call("initialize", { protocolVersions: ["0.9.0"], clientId })
    return reader
  }

  /** Follows the runs that begin in a session from now on, to the end of the first one. */
  async follow(sessionId: string, arrivals: Arrivals): Promise<RunReader> {
    const ended = new Promise<void>((resolve) => {
      this.onAction = (action) => {
        const arrived = process.hrtime.bigint()
        if (/"type":"chat\/(?:delta|responsePart)"/.test(action)) arrivals.take(action, arrived)
        else if (action.includes('"type":"chat/turnComplete"')) resolve()
      }
    })
    const session = `ahp-session:/${sessionId}`
    const { snapshot } = await this.call<Snapshot>("subscribe", { channel: session })
    await this.call("subscribe", { channel: snapshot.state.defaultChat })
    return { ended, close: () => this.socket.close() }
  }

  private async call<A>(method: string, params: object): Promise<A> {
    const id = ++this.lastId
    const answer = new Promise<string>((resolve) => this.answers.set(id, resolve))
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }))
    const { error, result } = JSON.parse(await answer) as { readonly result: A; readonly error?: unknown }
    this.answers.delete(id)
    if (error !== undefined) throw new Error(`${method} was refused: ${JSON.stringify(error)}`)
    return result
  }
}
