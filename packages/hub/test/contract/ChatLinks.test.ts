import type { ChatAccount, ConfirmedChatLink } from "@corral/domain/chat/ChatAccount"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createHash } from "node:crypto"
import type { Answer } from "@corral/testing/http/Contract"
import { bindingRequired, gatewayEnv, gatewayOf, newAccount, Person } from "@corral/testing/hub/Chats"
import { Browser } from "@corral/testing/hub/Browser"
import { codeOf } from "@corral/testing/hub/HubClient"
import { HubInProcess } from "@corral/testing/hub/HubInProcess"
import { until } from "@corral/testing/time/Until"

interface Started {
  readonly link: { readonly url: string; readonly expiresAt: string }
}

const detailsOf = ({ body }: Answer): unknown => (body as { readonly details?: unknown }).details

describe("Links of chat accounts", () => {
  const hub = new HubInProcess({ env: gatewayEnv })
  beforeAll(() => hub.start())
  afterAll(() => hub.remove())

  /** Of every link here, to be looked for where none may be. */
  const codes: Array<string> = []

  const start = async (account: ChatAccount, names = {}): Promise<string> => {
    const ask = () =>
      gatewayOf(hub).ask<Started>("POST", "/integrations/events", { body: bindingRequired(account, names) })
    // A Hub that waits too long for its store starts nothing.
    const answer = await until(async () => {
      const received = await ask()
      return codeOf(received) === "overloaded" ? undefined : received
    }, "an answer")
    assert.strictEqual(answer.status, 200, answer.text)
    assert.match(answer.body.link.url, new RegExp(`^${hub.url}/link/[A-Za-z0-9_-]{43}$`))
    const code = answer.body.link.url.slice(-43)
    codes.push(code)
    return code
  }

  const bind = (account: ChatAccount, number: string) =>
    gatewayOf(hub).ask("POST", "/integrations/bindings", { body: { ...account, number } })

  const numberOf = (answer: Answer): string => {
    assert.strictEqual(answer.status, 200, answer.text)
    const { number } = answer.body as ConfirmedChatLink
    assert.match(number, /^\d{6}$/)
    return number
  }

  /** Some number that is not this one. */
  const otherThan = (number: string): string => String((Number(number) + 1) % 1_000_000).padStart(6, "0")

  /** Opens the page, as a person does, and confirms. */
  const confirmed = async (person: Person, code: string): Promise<string> => {
    assert.strictEqual((await person.open(code)).status, 200)
    return numberOf(await person.confirm(code))
  }

  const onStore = (statement: string, parameters: ReadonlyArray<unknown> = []) =>
    hub.people.act(Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement, parameters)))

  const rowsOf = (account: ChatAccount) =>
    onStore("SELECT * FROM chat_links WHERE account = $1 ORDER BY id", [account.account])

  const refusedByAll = (answers: ReadonlyArray<Answer>): void => {
    for (const answer of answers) assert.strictEqual(codeOf(answer), "permission_denied", answer.text)
  }

  it("binds the account after the link, the page and the number in the chat", async () => {
    const account = newAccount()
    const ada = await Person.signedIn(hub, "ada")
    const code = await start(account, { senderName: "Li Wei", tenantName: "Acme" })
    await ada.open(code)
    const open = await ada.look(code)
    assert.deepInclude(open.body as object, {
      state: "open",
      platform: account.platform,
      tenant: account.tenant,
      account: account.account,
      name: "Li Wei",
      tenantName: "Acme"
    })
    const number = numberOf(await ada.confirm(code))
    assert.deepInclude((await ada.look(code)).body as object, { state: "confirmed" })
    const bound = await bind(account, number)
    assert.strictEqual(bound.status, 201, bound.text)
    assert.deepInclude(bound.body as object, { ...account, name: "Li Wei" })
    assert.deepInclude((await ada.look(code)).body as object, { state: "linked" })
    const { body } = await ada.browser.hub(`${hub.url}/client/chat-bindings`)
    assert.deepStrictEqual((body as { readonly items: unknown }).items, [bound.body])
  })

  it("serves a page without data of the link, which runs and loads only its own script", async () => {
    const ada = await Person.signedIn(hub, "ada")
    const code = await start(newAccount(), { senderName: "Li Wei" })
    const response = await ada.open(code)
    const text = await response.text()
    assert.strictEqual(response.headers.get("content-type"), "text/html; charset=utf-8")
    assert.strictEqual(response.headers.get("referrer-policy"), "no-referrer")
    assert.notInclude(text, code)
    assert.notInclude(text, "Li Wei")
    const policy = response.headers.get("content-security-policy") ?? ""
    assert.match(policy, /^default-src 'none'; /)
    assert.include(policy, "frame-ancestors 'none'")
    for (const tag of ["script", "style"]) {
      const inside = new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`).exec(text)?.[1] ?? ""
      const hash = createHash("sha256").update(inside).digest("base64")
      assert.include(policy, `${tag}-src 'sha256-${hash}'`)
    }
    const received = ada.browser.setCookies.get("__Host-corral-link") ?? ""
    assert.match(
      received,
      /^__Host-corral-link=[A-Za-z0-9_-]{22}; Max-Age=\d+; Path=\/; HttpOnly; Secure; SameSite=Lax$/
    )
    await ada.open(code)
    assert.include(ada.browser.setCookies.get("__Host-corral-link"), received.split(";", 1)[0])
  })

  it("never shows the number to a person who forwards the link", async () => {
    const account = newAccount()
    const victim = await Person.signedIn(hub, "victim")
    const number = await confirmed(victim, await start(account))
    for (const triesLeft of [4, 3, 2, 1, 0]) {
      const wrong = await bind(account, otherThan(number))
      assert.strictEqual(codeOf(wrong), "binding_required")
      assert.deepStrictEqual(detailsOf(wrong), { reason: "wrong_number", triesLeft })
    }
    // The sixth finds no link, and neither does the right one.
    for (const tried of [otherThan(number), number]) {
      const late = await bind(account, tried)
      assert.strictEqual(codeOf(late), "binding_required")
      assert.deepStrictEqual(detailsOf(late), { reason: "no_link" })
    }
  })

  it("keeps the count of wrong numbers when a new number is requested", async () => {
    const account = newAccount()
    const ada = await Person.signedIn(hub, "ada")
    const code = await start(account)
    const first = await confirmed(ada, code)
    await bind(account, otherThan(first))
    const second = numberOf(await ada.confirm(code))
    if (second !== first)
      assert.deepStrictEqual(detailsOf(await bind(account, first)), { reason: "wrong_number", triesLeft: 3 })
    assert.strictEqual((await bind(account, second)).status, 201)
  })

  it("counts each of many concurrent wrong numbers", async () => {
    const account = newAccount()
    const number = await confirmed(await Person.signedIn(hub, "ada"), await start(account))
    const answers = await Promise.all(Array.from({ length: 8 }, () => bind(account, otherThan(number))))
    const reasons = answers.map((answer) => (detailsOf(answer) as { readonly reason: string }).reason)
    assert.strictEqual(reasons.filter((reason) => reason === "wrong_number").length, 5)
    assert.strictEqual((await bind(account, number)).status, 403)
  })

  it("refuses a browser that has not opened the page", async () => {
    const account = newAccount()
    const ada = await Person.signedIn(hub, "ada")
    const code = await start(account)
    refusedByAll([await ada.confirm(code)])
    await ada.open(code)
    ada.browser.cookies(hub.url).set("__Host-corral-link", "of no shape of ours")
    refusedByAll([await ada.confirm(code)])
    ada.browser.cookies(hub.url).delete("__Host-corral-link")
    refusedByAll([await ada.confirm(code)])
    assert.deepInclude((await ada.look(code)).body as object, { state: "open" })
  })

  it("refuses credentials other than a browser's sign-in", async () => {
    const code = await start(newAccount())
    const { token } = await hub.people.signIn("ada", "web")
    const cookie = { cookie: `__Host-corral-link=${"a".repeat(22)}` }
    const desktop = await hub.signedIn("ada")
    const key = await (
      await hub.atBrowser("ada")
    ).ask<{ readonly token: string }>("POST", "/client/auth/keys", {
      body: { name: "ci", scopes: ["read", "write"] }
    })
    for (const bearer of [token, desktop.token, key.body.token])
      for (const what of ["confirm", ...(bearer === key.body.token ? ["look", "refuse"] : [])])
        refusedByAll([
          await hub.client.ask("POST", `/client/chat-links/${what}`, {
            token: bearer,
            headers: cookie,
            body: { code }
          })
        ])
  })

  it("refuses confirmation in another browser", async () => {
    const account = newAccount()
    const code = await start(account)
    const ada = await Person.signedIn(hub, "ada")
    const number = await confirmed(ada, code)
    const [elsewhere, eve] = [await Person.signedIn(hub, "ada"), await Person.signedIn(hub, "eve")]
    for (const other of [elsewhere, eve]) {
      await other.open(code)
      refusedByAll([await other.confirm(code)])
    }
    refusedByAll([await eve.look(code), await eve.refuse(code)])
    assert.strictEqual((await bind(account, number)).status, 201)
  })

  it.each([
    ["fetches the page", (person: Person, code: string) => person.open(code)],
    [
      "has its script look at the link",
      async (person: Person, code: string) => {
        await person.open(await start(newAccount()))
        await person.look(code)
      }
    ]
  ])("is bound to the first browser that opens the page: it %s", async (_, open) => {
    const account = newAccount()
    const code = await start(account)
    // A program that shows a preview takes nothing.
    const preview = new Person(hub.url, new Browser())
    await preview.open(code)
    const [first, second] = [await Person.signedIn(hub, "ada"), await Person.signedIn(hub, "ada")]
    await open(first, code)
    for (const other of [second, await Person.signedIn(hub, "eve")]) {
      refusedByAll([await other.confirm(code)])
      await other.open(code)
      refusedByAll([await other.confirm(code)])
      await other.look(code)
      refusedByAll([await other.confirm(code)])
    }
    const number = numberOf(await first.confirm(code))
    assert.strictEqual((await bind(account, number)).status, 201)
  })

  it("refuses a browser that has opened the page of another link only", async () => {
    const code = await start(newAccount())
    const ada = await Person.signedIn(hub, "ada")
    await ada.open(await start(newAccount()))
    refusedByAll([await ada.confirm(code)])
    await ada.open(code)
    numberOf(await ada.confirm(code))
  })

  it("accepts one of two concurrent confirmations", async () => {
    const code = await start(newAccount())
    const people = [await Person.signedIn(hub, "ada"), await Person.signedIn(hub, "eve")]
    for (const person of people) await person.open(code)
    const answers = await Promise.all(people.map((person) => person.confirm(code)))
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 403])
  })

  it("is valid for one use", async () => {
    const account = newAccount()
    const code = await start(account)
    const ada = await Person.signedIn(hub, "ada")
    const number = await confirmed(ada, code)
    assert.strictEqual((await bind(account, number)).status, 201)
    refusedByAll([await ada.confirm(code), await ada.refuse(code)])
    assert.strictEqual(codeOf(await bind(account, number)), "conflict")
    await gatewayOf(hub).ask("POST", "/integrations/bindings/unbind", { body: account })
    assert.deepStrictEqual(detailsOf(await bind(account, number)), { reason: "no_link" })
  })

  it("binds once for two concurrent numbers", async () => {
    const account = newAccount()
    const number = await confirmed(await Person.signedIn(hub, "ada"), await start(account))
    const answers = await Promise.all([bind(account, number), bind(account, number)])
    assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [201, 409])
    const live = await onStore("SELECT id FROM chat_bindings WHERE account = $1", [account.account])
    assert.strictEqual(live.length, 1)
  })

  it("ignores programs that only fetch the page", async () => {
    const account = newAccount()
    const code = await start(account)
    const before = await rowsOf(account)
    for (let i = 0; i < 20; i++) {
      const response = await fetch(`${hub.url}/link/${code}`, { method: i % 2 === 0 ? "GET" : "HEAD" })
      await response.arrayBuffer()
    }
    assert.deepStrictEqual(await rowsOf(account), before)
    assert.strictEqual(
      (await bind(account, await confirmed(await Person.signedIn(hub, "ada"), code))).status,
      201
    )
  })

  it("expires after ten minutes", async () => {
    const [early, late] = [newAccount(), newAccount()]
    const ada = await Person.signedIn(hub, "ada")
    const [opened, taken] = [await start(early), await start(late)]
    const number = await confirmed(ada, taken)
    const [row] = await rowsOf(early)
    const { created_at, expires_at } = row as { readonly created_at: Date; readonly expires_at: Date }
    assert.strictEqual(expires_at.getTime() - created_at.getTime(), 600_000)
    await onStore("UPDATE chat_links SET expires_at = now() - interval '1 second' WHERE account = ANY ($1)", [
      [early.account, late.account]
    ])
    refusedByAll([await ada.look(opened), await ada.confirm(opened), await ada.confirm(taken)])
    assert.deepStrictEqual(detailsOf(await bind(late, number)), { reason: "no_link" })
  })

  it("ends with a newer link of the account, and is limited to five an hour", async () => {
    const account = newAccount()
    const ada = await Person.signedIn(hub, "ada")
    const first = await start(account)
    const number = await confirmed(ada, first)
    await start(account)
    refusedByAll([await ada.look(first), await ada.confirm(first)])
    assert.deepStrictEqual(detailsOf(await bind(account, number)), { reason: "no_link" })
    for (let i = 0; i < 3; i++) await start(account)
    const refused = await gatewayOf(hub).ask("POST", "/integrations/events", {
      body: bindingRequired(account)
    })
    assert.strictEqual(codeOf(refused), "rate_limited")
    assert.approximately(Number(refused.headers.get("retry-after")), 3_600, 60)
    await onStore("UPDATE chat_links SET created_at = created_at - interval '1 hour' WHERE account = $1", [
      account.account
    ])
    await start(account)
  })

  it("starts concurrently, and is deleted after an hour", async () => {
    const old = newAccount()
    for (let i = 0; i < 5; i++) await start(old)
    await onStore(
      "UPDATE chat_links SET created_at = created_at - interval '61 minutes' WHERE account = $1",
      [old.account]
    )
    const account = newAccount()
    await Promise.all(Array.from({ length: 40 }, () => start(newAccount())))
    assert.deepStrictEqual(await rowsOf(old), [])
    // Of one account's own, begun at once, one is left.
    await Promise.all(Array.from({ length: 5 }, () => start(account)))
    const live = (await rowsOf(account)) as ReadonlyArray<{ readonly ended_at: Date | null }>
    assert.deepStrictEqual([live.length, live.filter(({ ended_at }) => ended_at === null).length], [5, 1])
  })

  it("can be refused by the user once", async () => {
    const account = newAccount()
    const code = await start(account)
    const ada = await Person.signedIn(hub, "ada")
    await ada.open(code)
    assert.strictEqual((await ada.refuse(code)).status, 204)
    refusedByAll([await ada.refuse(code), await ada.look(code), await ada.confirm(code)])
  })

  it("requires a sign-in of the last 15 minutes", async () => {
    const code = await start(newAccount())
    const ada = await Person.signedIn(hub, "ada")
    await ada.open(code)
    const age = (minutes: number) =>
      onStore(`UPDATE sign_ins SET authenticated_at = now() - interval '${minutes} minutes' WHERE id = $1`, [
        ada.signInId
      ])
    await age(16)
    const old = await ada.confirm(code)
    assert.strictEqual(codeOf(old), "conflict")
    assert.deepStrictEqual(detailsOf(old), { reason: "sign_in_old" })
    await age(14)
    numberOf(await ada.confirm(code))
  })

  it("shows names in one line, without characters that hide or reorder text", async () => {
    const ada = await Person.signedIn(hub, "ada")
    const shown = async (senderName: string) => {
      const { body } = await ada.look(await start(newAccount(), { senderName, tenantName: senderName }))
      const { name, tenantName } = body as { readonly name?: string; readonly tenantName?: string }
      assert.strictEqual(tenantName, name)
      return name
    }
    assert.strictEqual(await shown("Li\u0000\n Wei\u202e\u2066"), "Li Wei")
    assert.strictEqual(await shown("<b>Ada</b>"), "<b>Ada</b>")
    assert.strictEqual((await shown("长".repeat(10_000)))?.length, 200)
    assert.strictEqual((await shown(`${"x".repeat(199)}😀`))?.length, 199)
    assert.strictEqual(await shown("\ud800 \u200b"), undefined)
  })

  it.each([{}, { code: "" }, { code: "x".repeat(44) }, { code: `${"x".repeat(42)}\u0000` }, { code: 1 }])(
    "takes no code that is none (%#)",
    async (body) => {
      const ada = await Person.signedIn(hub, "ada")
      await ada.open("x")
      for (const what of ["look", "confirm", "refuse"])
        assert.strictEqual(
          codeOf(await ada.post(`/client/chat-links/${what}`, body)),
          "schema_validation_failed"
        )
    }
  )

  it("gives the same answer for unknown codes and codes of others", async () => {
    const ada = await Person.signedIn(hub, "ada")
    const eve = await Person.signedIn(hub, "eve")
    const code = await start(newAccount())
    await confirmed(ada, code)
    await eve.open(code)
    for (const what of ["look", "confirm", "refuse"]) {
      const responses = [code, "x".repeat(43)].map(async (tried) => {
        const { body, status } = await eve.post(`/client/chat-links/${what}`, { code: tried })
        return { ...(body as object), status, requestId: "" }
      })
      assert.deepStrictEqual(await responses[0], await responses[1])
    }
  })

  it("is audited under the actor, without codes or numbers there or in the log", async () => {
    const account = newAccount()
    const code = await start(account)
    const grace = await Person.signedIn(hub, "grace")
    const mallory = await Person.signedIn(hub, "mallory")
    const number = await confirmed(grace, code)
    await mallory.open(code)
    refusedByAll([await mallory.confirm(code)])
    await bind(account, otherThan(number))
    await bind(account, number)
    await gatewayOf(hub).ask("POST", "/integrations/bindings/unbind", { body: account })
    const trailOf = async (person: Person) => {
      const { body } = await person.browser.hub(`${hub.url}/client/audit`)
      return (body as { readonly items: ReadonlyArray<Record<string, string>> }).items
        .filter(({ action }) => action?.startsWith("chat."))
        .map(({ action, outcome, resource }) => [action, outcome, resource?.slice(0, 4)])
    }
    assert.deepStrictEqual(await trailOf(grace), [
      ["chat.unbind", "allowed", "cbd_"],
      ["chat.bind", "allowed", "cbd_"],
      ["chat.confirm", "allowed", "lnk_"]
    ])
    assert.deepStrictEqual(await trailOf(mallory), [["chat.confirm", "denied", "lnk_"]])
    const received = await onStore(
      "SELECT actor, action, outcome, resource FROM audit WHERE action LIKE 'chat.%'"
    )
    const ofGateway = (received as ReadonlyArray<Record<string, string>>).filter(
      ({ actor }) => actor === "gateway"
    )
    assert.deepStrictEqual(
      new Set(ofGateway.map(({ action, outcome }) => `${action} ${outcome}`)),
      new Set(["chat.start allowed", "chat.start failed", "chat.bind denied", "chat.bind failed"])
    )
    const stored = await onStore("SELECT actor, action, resource, code FROM audit")
    const written = hub.stderr + JSON.stringify(stored)
    for (const secret of [...codes, gatewayEnv.CORRAL_HUB_GATEWAY_TOKEN]) assert.notInclude(written, secret)
    assert.notMatch(written, new RegExp(`\\b${number}\\b`))
  })
})
