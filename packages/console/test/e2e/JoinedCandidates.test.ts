/** Five agents on one task, chosen, compared, decided and continued in a real browser, over a real Hub and Edge. */
import { assert, describe, it } from "@effect/vitest"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { execFileSync } from "node:child_process"
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

const lines = Array.from({ length: 40 }, (_, nth) => `line ${nth + 1}`)
const linesWith = (texts: Readonly<Record<number, string>>) => lines.map((line, at) => texts[at + 1] ?? line)
const textWith = (texts: Readonly<Record<number, string>>) => `${linesWith(texts).join("\n")}\n`

/** Makes the folder a repository with one commit. */
const begin = (workspace: string): void => {
  writeFileSync(join(workspace, "hours.txt"), textWith({}))
  const author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
  for (const args of [
    ["init", "-q"],
    ["add", "-A"],
    ["commit", "-qm", "begin"]
  ])
    execFileSync("git", [...author, ...args], { cwd: workspace })
}

const hours = (texts: Readonly<Record<number, string>>) => `/write hours.txt ${linesWith(texts).join("\\n")}`

/** The same text for all. Each plays what is for its model. */
const prompt = [
  "/write shared.txt the same",
  `/as one ${hours({ 3: "three", 35: "thirty-five" })}`,
  "/as two /write two.txt second",
  `/as two ${hours({ 20: "twenty" })}`,
  `/as three ${hours({ 3: "tres" })}`,
  "/as four /write docs/four.txt fourth",
  `/as five ${hours({ 3: "three", 35: "thirty-five" })}`,
  "/say I have done it."
].join("\n")

const models = ["one", "two", "three", "four", "five"]

/** Files of the workspace with their texts, without the repository. */
const treeOf = (workspace: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    readdirSync(workspace, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && !`${entry.parentPath}/`.includes("/.git/"))
      .map((entry) => {
        const path = join(entry.parentPath, entry.name)
        return [path.slice(workspace.length + 1), readFileSync(path, "utf8")]
      })
  )

describe.skipIf(!hasChromium)("candidates in the console", () => {
  let joined: Joined
  let browser: ConsoleBrowser
  let token: string
  withJoinedConsole((opened) => ({ joined, browser, token } = opened), {
    makeEdge: (options) => {
      const edge = new EdgeProcess(options)
      begin(edge.workspace)
      return edge
    }
  })

  /** Chooses five agents, a worktree and a mode, and sends the task. */
  const start = async (page: Page): Promise<void> => {
    await page.getByRole("button", { name: /^Agent: / }).click()
    await page.getByRole("menuitem", { name: "Several agents…" }).click()
    const dialog = page.getByRole("dialog", { name: "Ask several agents" })
    for (const [at, model] of models.entries()) {
      if (at > 1) await dialog.getByRole("button", { name: "Add agent" }).click()
      await dialog.getByLabel(`Agent ${at + 1}`, { exact: true }).selectOption("scripted")
      await dialog.getByRole("textbox", { name: `Model of agent ${at + 1}` }).fill(model)
    }
    await dialog.getByRole("button", { name: "Use 5 agents" }).click()
    await page.getByRole("button", { name: /^Workspace: / }).click()
    await page.getByRole("menuitemcheckbox", { name: "Work in a separate git worktree" }).click()
    await page.keyboard.press("Escape")
    await page.getByRole("button", { name: /^Mode: / }).click()
    await page.getByRole("menuitemradio", { name: /^Edit files, ask for other actions/ }).click()
    await page.getByRole("textbox", { name: "Message" }).fill(prompt)
    await page.keyboard.press("Enter")
  }

  it("compares five, accepts hunks of two, rejects others, continues with one and undoes one", async () => {
    const { workspace } = joined.edge
    const page = await browser.page(joined.front.url, token, "/", { viewport: { width: 1_280, height: 900 } })
    await start(page)
    const card = page.getByRole("region", { name: "5 agents" })
    await card.getByText("All done").waitFor()
    await card.getByRole("link", { name: "Compare" }).click()
    await page.getByRole("button", { name: "1 file that all changed in the same way" }).waitFor()
    await page.getByRole("button", { name: "hours.txt" }).click()
    // The first and the last one did the same.
    const a = page.getByRole("region", { name: /^hours.txt of A .*, E / })
    const b = page.getByRole("region", { name: /^hours.txt of B / })
    const c = page.getByRole("region", { name: /^hours.txt of C / })
    assert.deepStrictEqual(treeOf(workspace), { "hours.txt": textWith({}) })

    await a.getByRole("button", { name: "Accept Lines 1–6 of hours.txt" }).click()
    await page.getByRole("status").getByText("Accepted 1 file").waitFor()
    assert.strictEqual(treeOf(workspace)["hours.txt"], textWith({ 3: "three" }))
    await b.getByRole("button", { name: "Accept hours.txt of B" }).click()
    await b.waitFor({ state: "detached" })
    assert.strictEqual(treeOf(workspace)["hours.txt"], textWith({ 3: "three", 20: "twenty" }))

    await c.getByRole("button", { name: "Accept hours.txt of C" }).click()
    const conflict = page.getByRole("dialog", { name: "The workspace has other changes at the same place" })
    await conflict.getByRole("region", { name: "Workspace" }).getByText("three").waitFor()
    await conflict.getByRole("region", { name: "Agent" }).getByText("tres").waitFor()
    assert.strictEqual(treeOf(workspace)["hours.txt"], textWith({ 3: "three", 20: "twenty" }))
    await conflict.getByRole("button", { name: "Reject hours.txt" }).click()
    await conflict.waitFor({ state: "detached" })

    for (const [letter, comment] of [
      ["D", "No documents, please."],
      ["E", "The same as another one."]
    ]) {
      await page.getByRole("button", { name: new RegExp(`^Reject all changes of ${letter} `) }).click()
      const dialog = page.getByRole("dialog", { name: new RegExp(`^Reject the changes of ${letter} `) })
      await dialog.getByLabel("Why?").fill(comment ?? "")
      await dialog.getByRole("button", { name: "Reject", exact: true }).click()
      await page
        .getByRole("status")
        .getByText(/^Rejected/)
        .waitFor()
    }

    await page.getByRole("button", { name: /^Continue with B / }).click()
    await page.getByRole("dialog").getByRole("button", { name: "Continue" }).click()
    await page.getByText("Continued", { exact: true }).waitFor()
    assert.strictEqual(await page.getByText("Closed", { exact: true }).count(), 4)

    // A decision about a closed one can be undone.
    await page.getByRole("link", { name: /^Review the changes of A / }).click()
    const decisions = page.getByRole("button", { name: /^\d+ decisions?$/ })
    await decisions.click()
    await page.getByRole("button", { name: "Undo: Accepted 1 file" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Undo this acceptance?" })
    await dialog.getByRole("button", { name: "Undo" }).click()
    const expected = { "hours.txt": textWith({ 20: "twenty" }) }
    await until(
      async () => JSON.stringify(treeOf(workspace)) === JSON.stringify(expected) || undefined,
      "the workspace without the undone hunk",
      30_000
    )

    // The others are closed, and can be read.
    await page.getByRole("button", { name: "Close panel" }).click()
    const closed = page
      .getByRole("region", { name: "5 agents" })
      .getByRole("listitem")
      .filter({ hasText: "Closed" })
    await closed.nth(3).waitFor()
    assert.strictEqual(await closed.count(), 4)
    await closed
      .first()
      .getByRole("button", { name: /^Agent A / })
      .click()
    await closed.first().getByText("I have done it.").first().waitFor()
    await page.getByRole("button", { name: /^Agent: / }).click()
    await page.getByRole("menuitemradio", { name: /^People only/ }).waitFor()
    const agents = page.getByRole("menuitemradio").filter({ hasText: "Scripted" })
    await agents.nth(1).waitFor({ state: "detached" })
    assert.strictEqual(await agents.count(), 1)
    await browser.end(page)
  })
})
