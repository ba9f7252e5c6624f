/**
 * Browser at a Hub: for a sign-in it stores cookies by origin, follows redirects only on request, and sends the headers of browsers; then a client
 * sends its session cookie, with the `Origin` and CSRF header of the Hub's own pages.
 */
import type { Answer } from "../http/Contract.ts"
import { assertAnswer, HubClient, type HubRequestOptions } from "./HubClient.ts"
import { CSRF_HEADER, SESSION_COOKIE } from "@corral/domain/hub-api/SessionAuthority"
import type { UserId } from "@corral/domain/identity/Ids"
import { csrfOf } from "@corral/hub/signin/SessionToken"
import { assert } from "@effect/vitest"

interface BrowserRequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | URLSearchParams
}

export class Browser {
  private readonly jars = new Map<string, Map<string, string>>()
  /** The last `Set-Cookie` of each name, with its attributes. */
  readonly setCookies = new Map<string, string>()

  cookies(url: string): Map<string, string> {
    const { origin } = new URL(url)
    const jar = this.jars.get(origin) ?? new Map<string, string>()
    this.jars.set(origin, jar)
    return jar
  }

  async send(
    url: string,
    { body, headers = {}, method = "GET" }: BrowserRequestOptions = {}
  ): Promise<Response> {
    const jar = this.cookies(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ")
    const response = await fetch(url, {
      method,
      redirect: "manual",
      headers: { ...(cookie === "" ? {} : { cookie }), ...headers },
      ...(body === undefined ? {} : { body })
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...attributes] = line.split("; ")
      const name = pair.slice(0, pair.indexOf("="))
      const value = decodeURIComponent(pair.slice(pair.indexOf("=") + 1))
      this.setCookies.set(name, line)
      if (value === "" || attributes.includes("Max-Age=0")) jar.delete(name)
      else jar.set(name, value)
    }
    return response
  }

  /** A request to the Hub, its answer judged against the contract. */
  async hub(url: string, sent: BrowserRequestOptions = {}): Promise<Answer> {
    const response = await this.send(url, sent)
    const text = await response.text()
    const body: unknown = text === "" ? undefined : JSON.parse(text)
    const answer = { status: response.status, headers: response.headers, text, body }
    const { pathname, search } = new URL(url)
    assertAnswer(sent.method ?? "GET", pathname + search, answer)
    for (const secret of this.cookies(url).values()) assert.notInclude(text, secret)
    return answer
  }
}

/** Where an answer sends the browser. */
export const locationOf = ({ headers }: Answer | Response): string => headers.get("location") ?? ""

/** Client that sends a browser's session cookie, with the `Origin` and CSRF header of the Hub's own pages. */
export class BrowserClient extends HubClient {
  readonly cookie: string
  readonly signInId: string

  constructor(
    url: string,
    signIn: { readonly token: string; readonly userId: UserId; readonly signInId: string }
  ) {
    super(url, null, signIn.userId)
    this.cookie = signIn.token
    this.signInId = signIn.signInId
  }

  override ask<Body = unknown>(
    method: string,
    target: string,
    { headers = {}, ...more }: HubRequestOptions = {}
  ): Promise<Answer<Body>> {
    const ownHeaders = {
      cookie: `${SESSION_COOKIE}=${this.cookie}`,
      origin: this.url,
      [CSRF_HEADER]: csrfOf(this.cookie)
    }
    return super.ask<Body>(method, target, { ...more, token: null, headers: { ...ownHeaders, ...headers } })
  }
}
