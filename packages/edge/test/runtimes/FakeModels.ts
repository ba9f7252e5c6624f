/**
 * A model server of our own on loopback, for programs that speak to Anthropic, OpenAI (both APIs) or Gemini. It plays what the prompt says
 * (`Script`), and refuses every key but one.
 */
import { type JsonObject, parseObject, textOf } from "@corral/adapters/text/Json"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { createServer as createSecureServer } from "node:https"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { anthropicMessages } from "./dialects/AnthropicMessages.ts"
import type { AnswerTokens, Dialect } from "./dialects/Dialect.ts"
import { geminiContent } from "./dialects/GeminiContent.ts"
import { openAiChat } from "./dialects/OpenAiChat.ts"
import { openAiResponses } from "./dialects/OpenAiResponses.ts"
import { placed } from "./OfferedTools.ts"
import { closing, scriptIn, turnOf } from "./Script.ts"
import { callFor } from "./Tools.ts"

/** An answer that was sent as a whole. */
export interface SentAnswer {
  readonly model: string
  readonly tokens: AnswerTokens
  /** A side question of the program, such as for a title, and no part of a turn. */
  readonly isSide: boolean
}

/** Different ones for each answer, so that a sum shows which answers it has. */
const tokensOf = (number: number, reportsWrites: boolean): AnswerTokens => {
  const [fresh, written] = [500 + 13 * number, 100 + 3 * number]
  return {
    fresh: reportsWrites ? fresh : fresh + written,
    read: 300 + 7 * number,
    written: reportsWrites ? written : 0,
    text: 40 + number,
    reasoning: 10 + (number % 3)
  }
}

/** The key that is taken. */
export const RIGHT_KEY = "sk-right-0000000000000000"
export const WRONG_KEY = "sk-wrong-0000000000000000"

const dialects: ReadonlyArray<Dialect> = [anthropicMessages, openAiResponses, openAiChat, geminiContent]

interface HeldAnswers {
  /** Number of tool results before them. */
  readonly after: number
  readonly at: "beginning" | "middle"
  readonly reached: () => void
  readonly over: Promise<void>
}

const waitFor = ({ over, reached }: HeldAnswers): Promise<void> => {
  reached()
  return over
}

export class FakeModels {
  /** The folder that relative paths of scripts are in. */
  workspace = "/"
  /** Bodies of the requests that asked the model with tools, in order. */
  readonly requests: Array<string> = []
  /** Steps that no offered tool could do: a test that finds one knows why. */
  readonly impossible: Array<string> = []
  /** What the programs have used. */
  readonly answers: Array<SentAnswer> = []
  private readonly server: Server
  private readonly isSecure: boolean
  private served = 0
  private held: HeldAnswers | undefined

  /** `certificate`: for TLS. */
  constructor(certificate?: { readonly cert: string; readonly key: string }) {
    const serve = (request: IncomingMessage, response: ServerResponse) =>
      void this.serve(request, response).catch((cause: unknown) => {
        // A program would wait for the answer.
        this.impossible.push(String(cause))
        response.destroy()
      })
    this.isSecure = certificate !== undefined
    this.server = certificate === undefined ? createServer(serve) : createSecureServer(certificate, serve)
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.server.listen(0, "127.0.0.1", resolve)
    })
  }

  get url(): string {
    // It listens on a port, not on a path.
    const { port } = this.server.address() as AddressInfo
    return `http${this.isSecure ? "s" : ""}://127.0.0.1:${port}`
  }

  /**
   * From now on, an answer after at least `after` tool results waits until `release`, at its beginning or in its middle. `reached` settles at
   * the first such answer.
   */
  holdAnswers(after: number, at: HeldAnswers["at"] = "beginning") {
    const reached = Promise.withResolvers<void>()
    const over = Promise.withResolvers<void>()
    this.held = { after, at, reached: reached.resolve, over: over.promise }
    const release = () => {
      this.held = undefined
      over.resolve()
    }
    return { reached: reached.promise, release }
  }

  stop(): void {
    this.server.close()
    this.server.closeAllConnections()
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = (status: number, type: string, body: string) =>
      response.writeHead(status, { "content-type": type }).end(body)
    const json = (status: number, body: JsonObject) =>
      answer(status, "application/json", JSON.stringify(body))
    const raw = await text(request)
    const path = (request.url ?? "").split("?", 1)[0] ?? ""
    const dialect = dialects.find((each) => each.path.test(path))
    if (dialect === undefined || request.method !== "POST") {
      if (/count_?tokens/i.test(path)) return void json(200, { input_tokens: 100, totalTokens: 100 })
      if (path.endsWith("/models")) return void json(200, { object: "list", data: [{ id: "fake-model" }] })
      return void json(404, { error: { message: "not found" } })
    }
    if (!String(request.headers[dialect.key]).includes(RIGHT_KEY)) {
      return void json(dialect.refusal.status, dialect.refusal.body)
    }
    const body = parseObject(raw) ?? {}
    const { isSide, ...reply } = this.respond(dialect, body, raw)
    const held = this.heldFor(dialect, body, raw)
    if (held?.at === "beginning") await waitFor(held)
    const model = textOf(body["model"]) ?? /models\/([^:]+):/.exec(path)?.[1] ?? "fake-model"
    const answered = { model, tokens: reply.tokens, isSide }
    const streams = body["stream"] === true || path.includes(":stream")
    if (streams) {
      const text = dialect.stream({ ...reply, model })
      const middle = held?.at === "middle" ? text.length / 2 : 0
      response.writeHead(200, { "content-type": "text/event-stream" }).write(text.slice(0, middle))
      if (held?.at === "middle") await waitFor(held)
      this.answers.push(answered)
      response.end(text.slice(middle))
    } else {
      this.answers.push(answered)
      json(200, dialect.whole({ ...reply, model }))
    }
  }

  private heldFor(dialect: Dialect, body: JsonObject, raw: string): HeldAnswers | undefined {
    const { held } = this
    const isTurn = dialect.tools(body).length > 0 && scriptIn(raw) !== undefined
    return isTurn && held !== undefined && dialect.results(body) >= held.after ? held : undefined
  }

  private respond(dialect: Dialect, body: JsonObject, raw: string) {
    const id = `fake${++this.served}`
    const tokens = tokensOf(this.served, dialect.reportsWrites)
    const tools = dialect.tools(body)
    // A request without tools is a side question, even if it quotes a script.
    const script = tools.length === 0 ? undefined : scriptIn(raw)
    const endings = script === undefined ? 0 : raw.split(closing(script)).length - 1
    const { steps, text } = turnOf(script, dialect.results(body), endings)
    if (script !== undefined) this.requests.push(raw)
    const calls = steps.flatMap((step) => {
      const call = callFor(step, tools, { workspace: this.workspace, request: raw })
      if (call === undefined) this.impossible.push(`${step.tool}: ${tools.map(({ name }) => name).join(" ")}`)
      return call === undefined ? [] : [placed(call, tools)]
    })
    // A program may also ask for suggestions after the last words of its turn. What is to be said is in the prompt, too.
    const isAfter = script !== undefined && script.act !== "say" && endings > 0 && steps.length === 0
    const isSide = script === undefined || isAfter
    return { id, text, calls, tokens, isSide }
  }
}
