/** Decisions about changes in a real browser, from a Hub that plays a run in a worktree. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { until } from "@corral/testing/time/Until"
import * as fc from "fast-check"
import type { BrowserContextOptions, Page } from "playwright-core"
import { conflictRefusal, files, hoursFile, openChanges } from "../harness/ChangeScenes.ts"
import { ConsoleBrowser, hasChromium, seriousOf } from "../harness/ConsoleBrowser.ts"
import { untilLettersAct } from "../harness/KeysDialog.ts"
import type { ScriptedChanges, ScriptedFile } from "../harness/ScriptedChanges.ts"
import { ScriptedHub } from "../harness/ScriptedHub.ts"
import { decisionsSent, recordSent } from "../harness/SentRequests.ts"

const desktop = { viewport: { width: 1_280, height: 800 } }
const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true }

interface Sent {
  readonly parts?: {
    readonly all?: true
    readonly files?: ReadonlyArray<string>
    readonly hunks?: ReadonlyArray<string>
  }
  readonly comment?: string
  readonly comments?: ReadonlyArray<{ readonly text: string; readonly suggestion?: ReadonlyArray<string> }>
  readonly edits?: ReadonlyArray<{ readonly hunkId: string; readonly lines: ReadonlyArray<string> }>
  readonly decisionId?: string
}

describe.skipIf(!hasChromium)("changes in the console", () => {
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

  const show = async (options: BrowserContextOptions = desktop): Promise<Page> => {
    const page = await browser.page(hub.url, "sign-in", `${hub.thread}?panel=changes`, options)
    await page.getByRole("region", { name: "Changes", exact: true }).waitFor()
    return page
  }
  const open = async (
    of?: ReadonlyArray<ScriptedFile>,
    options?: BrowserContextOptions
  ): Promise<readonly [page: Page, changes: ScriptedChanges]> => {
    const changes = openChanges(hub, of)
    const page = await show(options)
    await page.locator(".file-head").first().waitFor()
    return [page, changes]
  }
  const sent = (kind: "accept" | "reject" | "undo"): ReadonlyArray<Sent> =>
    hub.received.filter(({ path }) => path.endsWith(`/changes/${kind}`)).map(({ body }) => body as Sent)
  const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true })
  const hunks = (page: Page) => page.locator(".hunk-head .hunk-lines").allInnerTexts()

  it("accepts a hunk, which disappears, and leaves the others", async () => {
    const [page] = await open([hoursFile])
    await button(page, "Accept Lines 31–34 of src/hours.js").click()
    await page.getByRole("status").getByText("Accepted 1 file").waitFor()
    await page.getByText("Lines 31–34").waitFor({ state: "detached" })
    assert.deepStrictEqual(await hunks(page), ["Lines 4–9", "Lines 60–62"])
    const [{ parts }] = sent("accept") as readonly [Sent]
    assert.strictEqual(parts?.hunks?.length, 1)
    assert.strictEqual(parts?.files, undefined)
    await browser.end(page)
  })

  it("marks a part while its decision is on the way, and sends it once", async () => {
    const [page, changes] = await open([hoursFile])
    await page.getByText("Lines 4–9").waitFor()
    let release = (): void => undefined
    changes.hold = new Promise((resolve) => (release = resolve))
    await button(page, "Accept src/hours.js").dblclick()
    await page.getByText("Accepting…").first().waitFor()
    // What is not decided is still there.
    assert.strictEqual((await hunks(page)).length, 3)
    release()
    await page.getByText("Everything is decided.").waitFor()
    assert.strictEqual(sent("accept").length, 1)
    await browser.end(page)
  })

  it("accepts everything but what is apart, which has its reason and its own decision", async () => {
    const [page] = await open()
    await button(page, "Accept all 4 files").click()
    await page.getByRole("status").getByText("Accepted 4 files").waitFor()
    await page.getByText("Not part of “Accept all”").waitFor()
    await page.getByText("A program of the workspace reads this file by its name").waitFor()
    await page.getByText("An added line has a secret").waitFor()
    assert.deepStrictEqual(
      sent("accept").map(({ parts }) => parts?.all),
      [true]
    )
    await button(page, "Accept .githooks/pre-commit").click()
    await until(async () => (sent("accept").length === 2 ? true : undefined), "the second decision")
    assert.strictEqual(sent("accept")[1]?.parts?.files?.length, 1)
    assert.deepStrictEqual(await seriousOf(page), [])
    await browser.end(page)
  })

  it("rejects a hunk with the comments on its lines, and a file with a reason", async () => {
    const [page] = await open([hoursFile, ...files.slice(1, 2)])
    await page.getByRole("group", { name: "line 7, added: // Friday" }).locator(".diff-number").last().click()
    await page.getByRole("textbox", { name: "Comment on line 7" }).fill("Leave this out.")
    await button(page, "Add comment").click()
    await page.getByText("1 comment, not sent").first().waitFor()
    await button(page, "Reject with 1 comment: Lines 4–9 of src/hours.js").click()
    await page.getByText("The agent learns of it with your next message.").waitFor()
    await page.getByText("1 comment, not sent").first().waitFor({ state: "detached" })
    await button(page, "Reject src/holidays.js and say why").click()
    await page.getByRole("dialog").getByLabel("Why?").fill("The dates come\nfrom a library.")
    await page.getByRole("dialog").getByRole("button", { name: "Reject" }).click()
    await until(async () => (sent("reject").length === 2 ? true : undefined), "the second decision")
    assert.deepStrictEqual(
      sent("reject").map(({ comment, comments }) => [comment, comments?.map(({ text }) => text)]),
      [
        [undefined, ["line 7: Leave this out."]],
        ["The dates come\nfrom a library.", undefined]
      ]
    )
    await browser.end(page)
  })

  it("applies the edit that a comment suggests, or sends it to the agent", async () => {
    const [page] = await open([hoursFile])
    const suggest = async (text: string, lines: (shown: string) => string) => {
      await page
        .getByRole("group", { name: "line 7, added: // Friday" })
        .locator(".diff-number")
        .last()
        .click()
      await page.getByRole("textbox", { name: "Comment on line 7" }).fill(text)
      await button(page, "Suggest an edit").click()
      const field = page.getByRole("textbox", { name: "Your version of the changed lines" })
      await field.fill(lines(await field.inputValue()))
      await button(page, "Add comment").click()
      await page.getByRole("group", { name: "Suggested lines" }).waitFor()
    }
    await suggest("", (shown) => shown.replace("open(20)", "open(19)"))
    assert.deepStrictEqual(await seriousOf(page), [])
    await button(page, "Apply the suggestion").click()
    await page.getByText("Lines 4–9").waitFor({ state: "detached" })
    const [accepted] = sent("accept")
    assert.deepStrictEqual(
      accepted?.edits?.map(({ lines }) => lines),
      [["  until: open(19),", "  // Friday is as long as every other day."]]
    )
    await page.getByRole("group", { name: "Suggested lines" }).waitFor({ state: "detached" })

    await page
      .getByRole("group", { name: /^line 32, .*isHoliday/ })
      .locator(".diff-number")
      .last()
      .click()
    await page.getByRole("textbox", { name: /^Comment on line/ }).fill("One line is enough.")
    await button(page, "Suggest an edit").click()
    await page.getByRole("textbox", { name: "Your version of the changed lines" }).press("ControlOrMeta+A")
    // Key by key: the focus stays.
    await page.keyboard.type("  return isHoliday(date) ? holidays : weekdays")
    await button(page, "Add comment").click()
    await button(page, "Reject with 1 comment: Lines 31–34 of src/hours.js").click()
    await page.getByText("Lines 31–34").waitFor({ state: "detached" })
    assert.deepStrictEqual(
      sent("reject").map(({ comments }) => comments?.map(({ suggestion, text }) => [text, suggestion])),
      [[["line 32: One line is enough.", ["  return isHoliday(date) ? holidays : weekdays"]]]]
    )
    await browser.end(page)
  })

  it("shows both sides of a conflict, and rejects the file from there", async () => {
    const [page, changes] = await open([hoursFile])
    changes.refusal = conflictRefusal("src/hours.js")
    await button(page, "Accept src/hours.js").click()
    const conflict = page.getByRole("alert", { name: "The workspace has other changes at the same place" })
    await conflict.getByRole("region", { name: "Workspace" }).getByText("until: open(19)").waitFor()
    await conflict.getByRole("region", { name: "Agent" }).getByText("until: open(20)").waitFor()
    await conflict.getByRole("region", { name: "Before both" }).getByText("until: open(18)").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await button(page, "Ask the agent").click()
    await page.getByRole("button", { name: "The agent was asked." }).waitFor()
    await conflict.getByRole("button", { name: "Reject src/hours.js" }).click()
    await page.getByText("Everything is decided.").waitFor()
    assert.strictEqual(sent("reject").length, 1)
    await browser.end(page)
  })

  it("decides nothing about outdated changes, loads the newest ones and says so", async () => {
    const [page, changes] = await open([hoursFile])
    changes.change({ ...hoursFile, hunks: [{ start: 8, lines: [" a", "-b", "+c"] }] })
    await button(page, "Accept src/hours.js").click()
    await page.getByText("These changes were no longer what you saw").waitFor()
    await page.getByText("Lines 8–9").waitFor()
    assert.strictEqual(changes.decisions.length, 0)
    await browser.end(page)
  })

  it("says that the changes are others now, and moves no line before the reader wants it", async () => {
    const [page, changes] = await open([hoursFile])
    await page.getByText("Lines 4–9").waitFor()
    changes.change({ ...hoursFile, hunks: [{ start: 8, lines: [" a", "-b", "+c"] }] })
    hub.hintChanges()
    await page.getByText("The files changed since.").waitFor()
    await page.getByText("Lines 4–9").waitFor()
    await page.getByRole("button", { name: "Load again" }).click()
    await page.getByText("Lines 8–9").waitFor()
    await page.getByText("The files changed since.").waitFor({ state: "detached" })
    await browser.end(page)
  })

  it("names who decided, and undoes a decision after a question", async () => {
    const [page, changes] = await open([hoursFile])
    await button(page, "Accept src/hours.js").click()
    await page.getByText("Everything is decided.").waitFor()
    await page.getByText("Accepted changes are in the workspace.").waitFor()
    const row = page.locator(".decision").first()
    assert.match(await row.innerText(), /Accepted 1 file.*src\/hours\.js.*by you.*in the console/s)
    await row.getByRole("button", { name: "Undo: Accepted 1 file" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Undo this acceptance?" })
    await dialog.getByText("src/hours.js").waitFor()
    await dialog.getByRole("button", { name: "Undo" }).click()
    await page.getByText("Lines 31–34").waitFor()
    assert.deepStrictEqual(
      sent("undo").map(({ decisionId }) => decisionId),
      ["chd_0001"]
    )
    assert.strictEqual(changes.decisions.length, 2)
    await browser.end(page)
  })

  it("undoes a turn that wrote directly from its footer, and shows both sides if it can't", async () => {
    const changes = openChanges(hub, [hoursFile])
    changes.direct = true
    const page = await browser.page(hub.url, "sign-in", hub.thread, desktop)
    await page.getByRole("button", { name: "Undo this turn…" }).click()
    const dialog = page.getByRole("alertdialog")
    await dialog.getByText("src/hours.js").waitFor()
    changes.refusal = conflictRefusal("src/hours.js")
    await dialog.getByRole("button", { name: "Undo" }).click()
    await dialog.getByText("until: open(19)").waitFor()
    assert.deepStrictEqual(await seriousOf(page), [])
    await dialog.getByRole("button", { name: "Close" }).click()
    await page.getByRole("button", { name: "Undo this turn…" }).click()
    await dialog.getByText("src/hours.js").waitFor()
    await dialog.getByRole("button", { name: "Undo" }).click()
    await dialog.waitFor({ state: "detached" })
    assert.deepStrictEqual(sent("undo"), [{}, {}])
    await browser.end(page)
  })

  it("says why nothing can be decided: a live turn, and a role", async () => {
    const changes = openChanges(hub, [hoursFile])
    changes.live = true
    const page = await show()
    await page.getByText("A turn is still working on these changes.").waitFor()
    assert.isTrue(await page.getByRole("button", { name: /^Accept 1 file/ }).isDisabled())
    changes.live = false
    hub.hintChanges()
    await page.getByText("A turn is still working on these changes.").waitFor({ state: "detached" })
    assert.isFalse(await page.getByRole("button", { name: /^Accept 1 file/ }).isDisabled())
    openChanges(hub, [hoursFile])
    hub.access = { role: "viewer", ownRequests: true }
    const viewer = await show()
    await viewer.getByText("Your role in this project can't decide about changes.").waitFor()
    await viewer.getByText("Lines 4–9").waitFor()
    assert.strictEqual(await viewer.locator("[data-decides]").count(), 0)
    await browser.end(page, viewer)
  })

  it("shows more lines around, hides changes of white space, and keeps the ids", async () => {
    const [page] = await open([hoursFile])
    await page.getByText("Lines 4–9").waitFor()
    await button(page, "Show more lines around").first().click()
    await page.getByText("/** Opening hours of the shop. */").waitFor()
    await page.getByRole("button", { name: "More actions" }).click()
    await page.getByRole("menuitemcheckbox", { name: "Hide white space changes" }).click()
    await page.getByText("Only white space differs.").waitFor()
    await page.getByText("[ 1, 2 ]").waitFor({ state: "detached" })
    await button(page, "Accept Lines 60–62 of src/hours.js").click()
    await page.getByText("Lines 60–62").waitFor({ state: "detached" })
    await browser.end(page)
  })

  it("decides with the keyboard alone: a letter, Enter, and the next part has the focus", async () => {
    const [page] = await open([hoursFile])
    await page.getByText("Lines 4–9").waitFor()
    await page.locator(".thread-head h1").click()
    await untilLettersAct(page)
    await page.getByRole("group", { name: "Changed lines" }).focus()
    await page.keyboard.press("n")
    await page.keyboard.press("j")
    await page.keyboard.press("a")
    await button(page, "Accept Lines 4–9 of src/hours.js").and(page.locator(":focus")).waitFor()
    assert.strictEqual(sent("accept").length, 0)
    await page.keyboard.press("Enter")
    await page.getByText("Lines 4–9").waitFor({ state: "detached" })
    await page
      .getByRole("group", { name: "Lines 31–34 of src/hours.js" })
      .and(page.locator(":focus"))
      .waitFor()
    await page.keyboard.press("d")
    await button(page, "Reject Lines 31–34 of src/hours.js").and(page.locator(":focus")).waitFor()
    await page.keyboard.press("Enter")
    await page.getByText("Lines 31–34").waitFor({ state: "detached" })
    assert.deepStrictEqual([sent("accept").length, sent("reject").length], [1, 1])
    await browser.end(page)
  })

  it("decides nothing by a sentence, wherever the focus is", async () => {
    const [page] = await open([hoursFile, ...files.slice(4)])
    await page.getByText("Lines 4–9").waitFor()
    const word = fc.string({ unit: fc.constantFrom(..."adadjknpve12?xyz"), minLength: 1, maxLength: 4 })
    const sentence = fc.array(word, { minLength: 2, maxLength: 4 }).map((words) => words.join(" "))
    const texts = fc.sample(sentence, { numRuns: 200, seed: 11 })
    const inChanges = ".changes :is(button, [tabindex], input, summary)"
    await recordSent(page)
    const count = await page.locator(inChanges).count()
    // What decides comes first; of the rest, some.
    for (let nth = 0; nth < count; nth += nth < 12 ? 1 : 4) {
      // Without the marks of viewed files that the sentence before has set.
      await page.evaluate("localStorage.clear()")
      await page.reload()
      await page.getByText("Lines 4–9").waitFor()
      await page.locator(".thread-head h1").click()
      const element = page.locator(inChanges).nth(nth)
      const text = texts[nth % texts.length] ?? ""
      await element.focus()
      await page.keyboard.type(text)
      await page.keyboard.press("Enter")
      assert.deepStrictEqual(await decisionsSent(page), [], `${nth}: ${text}`)
    }
    await browser.end(page)
  })

  it("lists changes that wait at home, on the board and in the sidebar, and leads to them", async () => {
    openChanges(hub)
    const page = await browser.page(hub.url, "sign-in", "/", desktop)
    const row = page.getByRole("list", { name: "Needs you" }).getByRole("listitem")
    await row.getByText("6 files to decide").waitFor()
    await page.locator(".session-row").getByText("Changes to decide").waitFor()
    await page.waitForFunction(() => document.title === "(1) Home · Corral")
    await row.getByRole("link", { name: "Review" }).click()
    await page.getByRole("button", { name: "Accept all 4 files" }).waitFor()
    await page.goto(`${hub.url}/board`)
    await page.getByRole("list", { name: "To review" }).getByText("6 files to decide").waitFor()
    await browser.end(page)
  })

  it("fits a phone, with targets for a thumb", async () => {
    const [page] = await open([hoursFile, ...files.slice(1)], phone)
    await page.getByText("Lines 4–9").waitFor()
    assert.isFalse(await page.evaluate("document.documentElement.scrollWidth > innerWidth"))
    for (const target of await page.locator(".changes [data-decides]:visible").all())
      assert.isAtLeast((await target.boundingBox())?.height ?? 0, 44)
    await button(page, "Accept Lines 4–9 of src/hours.js").tap()
    await page.getByRole("status").getByText("Accepted 1 file").waitFor()
    await browser.end(page)
  })
})
