/** Several agents on one task in a real browser, from a Hub that plays them: chosen, compared, decided and continued. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import type { BrowserContextOptions, Page } from "playwright-core"
import { conflictRefusal } from "../harness/ChangeScenes.ts"
import { candidates, inProgress, openGroup, prompt } from "../harness/CompareScenes.ts"
import { ConsoleBrowser, hasChromium, primaryActions, seriousOf } from "../harness/ConsoleBrowser.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"
import { until } from "@corral/testing/time/Until"

const desktop = { viewport: { width: 1_280, height: 800 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

interface Sent {
  readonly parts: { readonly all?: true; readonly hunks?: ReadonlyArray<string> }
  readonly comment?: string
}

describe.skipIf(!hasChromium)("several agents in the console", () => {
  let hub: ScriptedHub
  let browser: ConsoleBrowser
  beforeAll(async () => {
    hub = await ScriptedHub.open()
    browser = await ConsoleBrowser.open()
  })
  afterAll(async () => {
    await browser?.close()
    await hub?.close()
  })

  const open = async (
    of: Parameters<typeof openGroup>[1],
    options: BrowserContextOptions = desktop
  ): Promise<Page> => {
    const group = openGroup(hub, of)
    const page = await browser.page(hub.url, "sign-in", `/compare/${group.id}`, options)
    await page.getByRole("list", { name: "Agents of this task" }).waitFor()
    return page
  }
  const sent = (kind: "accept" | "reject") =>
    hub.received.flatMap(({ body, path }) => (path.endsWith(`/changes/${kind}`) ? [body as Sent] : []))
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
  const hasNoSideways = async (page: Page) =>
    assert.isFalse(await page.evaluate("document.documentElement.scrollWidth > innerWidth"))

  it("gives a text to the agents that a dialog names, and opens their session", async () => {
    openGroup(hub)
    const page = await browser.page(hub.url, "sign-in", "/", desktop)
    await page.getByRole("textbox", { name: "Message" }).fill(prompt)
    await page.getByRole("button", { name: "Agent: Claude Code" }).click()
    await page.getByRole("menuitem", { name: "Several agents…" }).click()
    const dialog = page.getByRole("dialog", { name: "Ask several agents" })
    // Twice the same agent is not two.
    await dialog.getByText("Two agents are the same.").waitFor()
    assert.isTrue(await dialog.getByRole("button", { name: "Use 2 agents" }).isDisabled())
    await dialog.getByRole("textbox", { name: "Model of agent 2" }).fill("opus-5")
    await dialog.getByRole("button", { name: "Add agent" }).click()
    await dialog.getByRole("textbox", { name: "Model of agent 3" }).fill("sonnet-5")
    assert.deepStrictEqual(await seriousOf(page), [])
    await dialog.getByRole("button", { name: "Use 3 agents" }).click()
    await page.getByRole("button", { name: "Agent: 3 agents" }).waitFor()
    await page.getByText("3 agents, each in its own copy of the workspace").waitFor()
    // The dialog's button chooses the agents. Only Enter in the field sends the text.
    const sentBy = (name: string) => hub.received.filter(({ path }) => path === name)
    assert.deepStrictEqual([...sentBy("/client/sessions"), ...sentBy("/web/agent-tasks")], [])
    await page.getByRole("textbox", { name: "Message" }).press("Enter")
    await page.getByRole("region", { name: "2 agents" }).waitFor()
    const [task, ...others] = sentBy("/web/agent-tasks").map(({ body }) => body)
    assert.deepStrictEqual(others, [])
    assert.deepStrictEqual(sentBy("/client/sessions"), [])
    assert.deepInclude(task as object, {
      agentId: "claude",
      candidates: [
        { agentId: "claude" },
        { agentId: "claude", model: "opus-5" },
        { agentId: "claude", model: "sonnet-5" }
      ],
      input: { text: prompt },
      mode: "ask"
    })
    await browser.end(page)
  })

  it("shows a group as one card in the thread, in which each turn unfolds", async () => {
    openGroup(hub, inProgress)
    const page = await browser.page(hub.url, "sign-in", hub.thread, desktop)
    const card = page.getByRole("region", { name: "4 agents" })
    await card.getByText("2 of 4 done").waitFor()
    assert.strictEqual(await page.getByText(prompt).count(), 1)
    assert.isTrue(await card.getByRole("button", { name: "Agent D Qwen default model" }).isDisabled())
    await card.getByRole("button", { name: "Agent A Claude Code opus-5" }).click()
    await card.getByText("the shop now opens at 10").waitFor()
    await card.getByRole("button", { name: "Stop all" }).click()
    await card.getByRole("link", { name: "Compare" }).click()
    await page.getByRole("heading", { name: "Compare 4 agents" }).waitFor()
    await until(async () => hub.received.some(({ path }) => path.endsWith("/stop")) || undefined, "the stop")
    await browser.end(page)
  })

  it("compares checks, use and files, and folds what all changed in the same way", async () => {
    const page = await open(candidates.five)
    const first = page.getByRole("listitem", { name: "A Claude Code", exact: true })
    await first.getByText("44k").waitFor()
    await first.getByText("$0.3412").waitFor()
    await first.getByText("2m 14s").waitFor()
    await page.getByRole("button", { name: "1 file that all changed in the same way" }).waitFor()
    assert.strictEqual(await page.getByText("CHANGELOG.md").count(), 0)
    await page
      .getByRole("listitem", { name: "B Codex" })
      .getByRole("button", { name: "tests failed" })
      .click()
    const dialog = page.getByRole("dialog", { name: "Check “tests”" })
    await dialog.getByText("not ok 2 - opens at 10 on public holidays").waitFor()
    await dialog.getByText("failed · exit code 1 · 8s").waitFor()
    await dialog.getByRole("button", { name: "Close" }).click()
    await page.getByRole("button", { name: "src/hours.js" }).click()
    // Two of the candidates have the same version.
    assert.strictEqual(await page.locator(".variant").count(), 3)
    await page.getByRole("region", { name: "src/hours.js of A Claude Code, C Claude Code" }).waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    assert.deepStrictEqual(await primaryActions(page), [])
    await hasNoSideways(page)
    await browser.end(page)
  })

  it("accepts hunks of two, and undoes one", async () => {
    const page = await open(candidates.two)
    await page.getByRole("button", { name: "src/hours.js" }).click()
    const a = page.getByRole("region", { name: "src/hours.js of A Claude Code" })
    await a.getByRole("button", { name: "Accept Lines 4–8 of src/hours.js" }).click()
    await page.getByRole("status").getByText("Accepted 1 file").waitFor()
    await a.getByText("Lines 4–8").waitFor({ state: "detached" })
    const b = page.getByRole("region", { name: "src/hours.js of B Codex" })
    await b.getByRole("button", { name: "Accept Lines 31–33 of src/hours.js" }).click()
    await b.getByText("Lines 31–33").waitFor({ state: "detached" })
    assert.deepStrictEqual(
      sent("accept").map(({ parts }) => parts.hunks?.length),
      [1, 1]
    )
    await page.getByRole("button", { name: "Undo" }).click()
    await page.getByRole("alertdialog").getByRole("button", { name: "Undo" }).click()
    await b.getByText("Lines 31–33").waitFor()
    await browser.end(page)
  })

  it("shows both versions of a conflict between candidates, and rejects one from there", async () => {
    const page = await open(candidates.two)
    await page.getByRole("button", { name: "src/hours.js" }).click()
    const [, set] = hub.group?.sets ?? []
    assert.isDefined(set)
    set.refusal = conflictRefusal("src/hours.js")
    await page.getByRole("button", { name: "Accept src/hours.js of B" }).click()
    const dialog = page.getByRole("dialog", { name: "The workspace has other changes at the same place" })
    await dialog.getByRole("region", { name: "Workspace" }).getByText("until: open(19)").waitFor()
    await dialog.getByRole("region", { name: "Agent" }).getByText("until: open(20)").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await dialog.getByRole("button", { name: "Reject src/hours.js" }).click()
    await dialog.waitFor({ state: "detached" })
    await until(async () => sent("reject").length > 0 || undefined, "the rejection")
    assert.strictEqual(sent("reject").length, 1)
    await browser.end(page)
  })

  it("rejects a candidate with a comment, and continues with another", async () => {
    const page = await open(candidates.two)
    await button(page, "Reject all changes of B Codex and say why").click()
    const dialog = page.getByRole("dialog", { name: "Reject the changes of B Codex?" })
    await dialog.getByLabel("Why?").fill("The dates must not come from a library.")
    await dialog.getByRole("button", { name: "Reject" }).click()
    await page.getByRole("status").getByText("Rejected 3 files").waitFor()
    assert.deepStrictEqual(
      sent("reject").map(({ comment, parts }) => [parts.all, comment]),
      [[true, "The dates must not come from a library."]]
    )
    await button(page, "Continue with A Claude Code").click()
    await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click()
    await page.getByText("Closed", { exact: true }).waitFor()
    await page.getByText("Continued", { exact: true }).waitFor()
    assert.strictEqual(await page.getByRole("button", { name: /^Continue with/ }).count(), 0)
    await page.goto(`${hub.url}${hub.thread}`)
    await page.getByRole("button", { name: "Agent: Claude Code" }).click()
    await page
      .getByRole("menuitemradio", { name: /^Claude Code/ })
      .first()
      .waitFor()
    assert.strictEqual(await page.getByRole("menuitemradio", { name: /^Codex/ }).count(), 0)
    await browser.end(page)
  })

  it("is one row at home and one card on the board", async () => {
    openGroup(hub, candidates.five)
    const page = await browser.page(hub.url, "sign-in", "/", desktop)
    const row = page.getByRole("list", { name: "Needs you" }).getByRole("listitem")
    await row.getByText("5 agents · All done · Checks pass for 1 of 5").waitFor()
    assert.strictEqual(await row.count(), 1)
    await page.waitForFunction(() => document.title === "(1) Home · Corral")
    await page.goto(`${hub.url}/board`)
    await page.getByRole("list", { name: "To review" }).getByText("5 agents · All done").waitFor()
    assert.strictEqual(await page.locator(".board .card").count(), 1)
    await page.getByRole("link", { name: "Compare" }).click()
    await page.getByRole("heading", { name: "Compare 5 agents" }).waitFor()
    await browser.end(page)
  })

  it("fits a phone, with targets for a thumb", async () => {
    const page = await open(candidates.five, phone)
    await page.getByRole("button", { name: "src/hours.js" }).tap()
    await page.locator(".variant").first().waitFor()
    await hasNoSideways(page)
    for (const target of await page.locator(".compare [data-decides]:visible").all())
      assert.isAtLeast((await target.boundingBox())?.height ?? 0, 44)
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })
})
