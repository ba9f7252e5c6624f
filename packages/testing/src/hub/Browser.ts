/**
 * Browser of a sign-in: stores cookies by origin, follows redirects only on request, and sends the headers of browsers.
 */
import { assert } from "@effect/vitest"
import type { Answer } from "../http/Answer.ts"
import { assertAnswer } from "./HubClient.ts"

export interface BrowserRequestOptions {
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
