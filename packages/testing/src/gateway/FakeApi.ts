/**
 * HTTP API of the fake Feishu: tokens, messages, the bot, users and the address of long connections. Records every call. A test can make the
 * next calls of one kind fail, hang, or lose their response.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { FakeAnswer, FakeMessages } from "./FakeMessages.ts"

export type Api = "token" | "send" | "reply" | "patch" | "bot" | "user" | "tenant" | "endpoint"

export interface ApiCall {
  readonly api: Api
  readonly path: string
  readonly body: Readonly<Record<string, unknown>>
  /** Of the answer; undefined where there was none. */
  readonly status: number | undefined
  readonly code: number | undefined
  /** Of `performance.now()`. */
  readonly at: number
}

export type Fault =
  | { readonly _tag: "Fail"; readonly status: number; readonly code: number }
  /** No answer, and nothing done. */
  | { readonly _tag: "Hang" }
  /** Done, and the connection breaks before the answer. */
  | { readonly _tag: "Lose" }

export interface ApiWorld {
  readonly appId: string
  readonly secret: string
  readonly botId: string
  readonly messages: FakeMessages
  readonly people: ReadonlyMap<string, string>
  readonly tenantName: string
  /** What `callback/ws/endpoint` gives. */
  readonly endpoint: () => unknown
  readonly changed: () => void
}

const ROUTES = {
  token: /^POST \/open-apis\/auth\/v3\/tenant_access_token\/internal$/,
  reply: /^POST \/open-apis\/im\/v1\/messages\/([^/]+)\/reply$/,
  send: /^POST \/open-apis\/im\/v1\/messages$/,
  patch: /^PATCH \/open-apis\/im\/v1\/messages\/([^/]+)$/,
  bot: /^GET \/open-apis\/bot\/v3\/info$/,
  user: /^GET \/open-apis\/contact\/v3\/users\/([^/]+)$/,
  tenant: /^GET \/open-apis\/tenant\/v2\/tenant\/query$/,
  endpoint: /^POST \/callback\/ws\/endpoint$/
} satisfies Readonly<Record<Api, RegExp>>

/** Codes that come with 200. */
const SOFT = new Set([0, 10003, 10014, 514, 1, 1000040343, 1000040350])

export class FakeApi {
  readonly calls: Array<ApiCall> = []
  /** Whether the app may read who people are. */
  readsPeople = true
  /** Whether the connection of a call breaks: before it is done, or before its response. */
  loss: (api: Api) => "request" | "response" | undefined = () => undefined
  private readonly faults = new Map<Api, Array<Fault>>()
  private readonly tokens = new Set<string>()
  private issued = 0
  private readonly world: ApiWorld

  constructor(world: ApiWorld) {
    this.world = world
  }

  /** Applies a fault to the next calls of that kind. */
  fault(api: Api, fault: Fault, times: number): void {
    const waiting = this.faults.get(api) ?? []
    this.faults.set(api, [...waiting, ...Array.from({ length: times }, () => fault)])
  }

  /** Invalidates all issued tokens. */
  revokeTokens(): void {
    this.tokens.clear()
  }

  /** All issued tokens, for checks that logs contain none. */
  get issuedTokens(): ReadonlyArray<string> {
    return Array.from({ length: this.issued }, (_, at) => tokenOf(at + 1))
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const at = performance.now()
    const url = new URL(request.url ?? "/", "http://fake")
    const found = apiOf(`${request.method} ${url.pathname}`)
    const body = await bodyOf(request)
    if (found === undefined) {
      response.writeHead(404).end()
      return
    }
    const { api, id } = found
    const fault = this.faults.get(api)?.shift()
    const loss = this.loss(api)
    const record = (status: number | undefined, code: number | undefined) => {
      this.calls.push({ api, path: url.pathname + url.search, body, status, code, at })
      this.world.changed()
    }
    if (fault?._tag === "Hang") return record(undefined, undefined)
    if (loss === "request") {
      record(undefined, undefined)
      request.socket.destroy()
      return
    }
    const answer =
      fault?._tag === "Fail"
        ? { code: fault.code, msg: "it was told to" }
        : this.done(api, id, url, body, request.headers.authorization)
    if (fault?._tag === "Lose" || loss === "response") {
      record(undefined, answer.code)
      request.socket.destroy()
      return
    }
    const status = fault?._tag === "Fail" ? fault.status : SOFT.has(answer.code) ? 200 : 400
    record(status, answer.code)
    response.writeHead(status, { "Content-Type": "application/json; charset=utf-8" })
    response.end(JSON.stringify(answer))
  }

  private done(
    api: Api,
    id: string,
    url: URL,
    body: Readonly<Record<string, unknown>>,
    authorization: string | undefined
  ): FakeAnswer & Readonly<Record<string, unknown>> {
    const { appId, botId, endpoint, messages, people, secret, tenantName } = this.world
    if (api === "token") {
      if (body["app_id"] !== appId || body["app_secret"] !== secret)
        return { code: 10014, msg: "app secret invalid" }
      this.issued += 1
      this.tokens.add(tokenOf(this.issued))
      return { code: 0, msg: "ok", tenant_access_token: tokenOf(this.issued), expire: 7_200 }
    }
    if (api === "endpoint") {
      if (body["AppID"] !== appId || body["AppSecret"] !== secret) return { code: 514, msg: "auth failed" }
      return { code: 0, msg: "", data: endpoint() }
    }
    if (authorization === undefined) return { code: 99991661, msg: "Missing access token" }
    if (!this.tokens.has(authorization.replace("Bearer ", "")))
      return { code: 99991663, msg: "Invalid access token" }
    switch (api) {
      case "send": {
        const chat = messages.chatOf(url.searchParams.get("receive_id_type"), body["receive_id"])
        return { ...messages.send(chat, body) }
      }
      case "reply":
        return { ...messages.reply(id, body) }
      case "patch":
        return { ...messages.change(id, body["content"]) }
      case "bot":
        return { code: 0, msg: "ok", bot: { open_id: botId, app_name: "Corral" } }
      case "user": {
        const name = this.readsPeople ? people.get(id) : undefined
        if (name === undefined) return { code: 41050, msg: "no user authority" }
        return { code: 0, data: { user: { open_id: id, name } } }
      }
      case "tenant":
        return { code: 0, data: { tenant: { name: tenantName } } }
    }
  }
}

const tokenOf = (issue: number): string => `t-fake-token-${issue}`

const apiOf = (line: string) => {
  for (const [api, pattern] of Object.entries(ROUTES)) {
    const found = pattern.exec(line)
    // Its keys are the names of the APIs.
    if (found !== null) return { api: api as Api, id: decodeURIComponent(found[1] ?? "") }
  }
  return undefined
}

const bodyOf = async (request: IncomingMessage): Promise<Readonly<Record<string, unknown>>> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === "" ? {} : (JSON.parse(text) as Record<string, unknown>)
}
