/** The script of the link's page, run as a browser runs it, on a document of as many elements as it knows. */
import { assert, describe, it } from "@effect/vitest"
import { linkPageScript } from "../../src/http/LinkPage.ts"

const script = linkPageScript({ prefix: "", csrfCookie: "csrf", csrfHeader: "x-csrf", page: "/link" })

type PageAnswer = readonly [status: number, body?: unknown]

class Element {
  textContent = ""
  hidden = true
  focused = false
  private clicked: () => Promise<void> = () => Promise.resolve()
  readonly addEventListener = (_: string, listener: () => Promise<void>) => void (this.clicked = listener)
  readonly click = () => this.clicked()
  readonly focus = () => void (this.focused = true)
  readonly replaceChildren = (bold: Element, rest: string) =>
    void (this.textContent = bold.textContent + rest)
}

const open = {
  state: "open",
  platform: "feishu",
  tenant: "t1",
  account: "ou_1",
  name: "<img src=x onerror=alert(1)>",
  tenantName: "Acme",
  requestedAt: "2026-11-22T01:00:00.000Z",
  expiresAt: "2026-11-22T01:10:00.000Z"
}
const me = { user: { id: "usr_1", name: "Ada", email: "ada@example.com" } }

/** Runs it; `answers` has what the Hub says to each path, one after the other, and the last of them for ever. */
const opened = async (answers: Readonly<Record<string, ReadonlyArray<PageAnswer>>>, language = "en-GB") => {
  const elements = new Map<string, Element>()
  const at = (id: string): Element => {
    const element = elements.get(id) ?? new Element()
    elements.set(id, element)
    return element
  }
  const requested: Array<string> = []
  const sent: Array<RequestInit> = []
  const visited: Array<string> = []
  const left = new Map(Object.entries(answers).map(([path, received]) => [path, [...received]]))
  const names = {
    navigator: { language },
    document: {
      title: "",
      cookie: "a=b; csrf=c%2Fd",
      documentElement: {},
      getElementById: at,
      createElement: () => new Element()
    },
    location: { pathname: "/link/thecode", replace: (to: string) => void visited.push(to) },
    setTimeout: (then: () => void) => void setImmediate(then),
    fetch: (path: string, init?: RequestInit) => {
      requested.push(path)
      if (init !== undefined) sent.push(init)
      const received = left.get(path) ?? []
      const [status, body] = (received.length > 1 ? received.shift() : received[0]) ?? [500, {}]
      return Promise.resolve({ status, ok: status < 300, json: () => Promise.resolve(body) })
    }
  }
  const AsyncFunction = (async () => undefined).constructor as FunctionConstructor
  await AsyncFunction(...Object.keys(names), script)(...Object.values(names))
  const text = () => [...elements.values()].map(({ textContent }) => textContent).join("\n")
  return { at, asked: requested, sent, gone: visited, text }
}

const look = "/client/chat-links/look"
const confirm = "/client/chat-links/confirm"
const refuse = "/client/chat-links/refuse"
const signedIn = { "/client/auth/me": [[200, me]] } as const

describe("The page of a chat link", () => {
  it("shows the account, the user, the time and a warning, with Cancel focused", async () => {
    const { asked, at, sent } = await opened({ ...signedIn, [look]: [[200, open]] })
    assert.strictEqual(at("account").textContent, `${open.name} (ou_1), Acme (t1), on feishu`)
    assert.strictEqual(at("person").textContent, "Ada (ada@example.com)")
    assert.include(at("requested").textContent, "2026")
    assert.include(at("warning").textContent, "cancel")
    assert.deepStrictEqual(
      [at("ask").hidden, at("cancel").focused, at("confirm").focused],
      [false, true, false]
    )
    assert.deepStrictEqual(asked, ["/client/auth/me", look])
    assert.strictEqual(sent[0]?.body, '{"code":"thecode"}')
    assert.deepStrictEqual(sent[0]?.headers, { "content-type": "application/json", "x-csrf": "c/d" })
  })

  it("shows the number after confirmation, and waits for it", async () => {
    const states = [open, { ...open, state: "confirmed" }, { ...open, state: "linked" }]
    const { at, text } = await opened({
      ...signedIn,
      [look]: states.map((link) => [200, link]),
      [confirm]: [[200, { number: "012345", expiresAt: open.expiresAt }]]
    })
    assert.notInclude(text(), "012345")
    await at("confirm").click()
    assert.strictEqual(at("number").textContent, "012345")
    assert.include(at("status").textContent, "linked")
    assert.isTrue(at("type").hidden)
  })

  it("cancels the link", async () => {
    const { asked, at } = await opened({ ...signedIn, [look]: [[200, open]], [refuse]: [[204]] })
    await at("cancel").click()
    assert.strictEqual(asked.at(-1), refuse)
    assert.include(at("status").textContent, "Nothing was linked")
    assert.isTrue(at("ask").hidden)
  })

  it("sends users without a recent sign-in to sign in, and back", async () => {
    const out = await opened({ "/client/auth/me": [[401, {}]] })
    assert.deepStrictEqual(out.gone, ["/client/auth/login?returnTo=%2Flink%2Fthecode"])
    const old = await opened({
      ...signedIn,
      [look]: [[200, open]],
      [confirm]: [[409, { details: { reason: "sign_in_old" } }]]
    })
    await old.at("confirm").click()
    assert.deepStrictEqual(old.gone, ["/client/auth/login?returnTo=%2Flink%2Fthecode&fresh=1"])
  })

  it.each([
    [403, "was used, has expired"],
    [422, "was used, has expired"],
    [500, "Can't reach the Hub"]
  ])("explains status %i", async (status, text) => {
    const { at } = await opened({ ...signedIn, [look]: [[status, {}]] })
    assert.include(at("status").textContent, text)
    assert.isTrue(at("ask").hidden)
  })

  it("uses Chinese in a Chinese browser", async () => {
    const { at } = await opened({ ...signedIn, [look]: [[200, open]] }, "zh-CN")
    assert.strictEqual(at("title").textContent, "关联聊天账号")
    assert.strictEqual(at("cancel").textContent, "取消")
  })

  it("never ends its element", () => {
    assert.notMatch(script, /<\/|<!--/)
  })
})
