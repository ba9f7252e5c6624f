/** Decisions in a real browser about the changes of a real run in a worktree, over a real Hub and Edge. */
import { assert, describe, it } from "@effect/vitest"
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type ConsoleBrowser, hasChromium } from "../harness/ConsoleBrowser.ts"
import { hideTab, notifiedIn, observedTab } from "../harness/HiddenTab.ts"
import { withJoinedConsole } from "../harness/JoinedConsole.ts"

const lines = Array.from({ length: 40 }, (_, nth) => `line ${nth + 1}`)
/** The lines with other texts, by their numbers. */
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

describe.skipIf(!hasChromium)("changes of a worktree in the console", () => {
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

  it("accepts a hunk, shows a conflict, rejects the rest and undoes, in the files of the workspace", async () => {
    const file = join(joined.edge.workspace, "hours.txt")
    const { runId } = await joined.task({
      text: `/write hours.txt ${linesWith({ 3: "three", 35: "thirty-five" }).join("\\n")}`,
      mode: "auto_edit",
      isolation: "worktree"
    })
    await joined.runWith(runId, ({ changes, state }) => state === "completed" && changes?.state === "open")
    const page = await browser.page(joined.front.url, token, `/runs/${runId}?panel=changes`, {
      viewport: { width: 1_280, height: 800 }
    })
    await page.getByRole("button", { name: "Accept 1 file" }).waitFor()
    assert.strictEqual(readFileSync(file, "utf8"), textWith({}))

    await page.getByRole("button", { name: "Accept Lines 1–6 of hours.txt" }).click()
    await page.getByRole("status").getByText("Accepted 1 file").waitFor()
    assert.strictEqual(readFileSync(file, "utf8"), textWith({ 3: "three" }))
    await page.getByText("Lines 1–6").waitFor({ state: "detached" })

    const edited = textWith({ 3: "three", 35: "mine" })
    writeFileSync(file, edited)
    await page.getByRole("button", { name: "Accept hours.txt" }).click()
    const conflict = page.getByRole("alert", { name: "The workspace has other changes at the same place" })
    await conflict.getByRole("region", { name: "Workspace" }).getByText("mine").waitFor()
    await conflict.getByRole("region", { name: "Agent" }).getByText("thirty-five").waitFor()
    assert.strictEqual(readFileSync(file, "utf8"), edited)

    await conflict.getByRole("button", { name: "Reject hours.txt" }).click()
    await page.getByText("Everything is decided.").waitFor()
    await page.getByRole("button", { name: "Undo: Accepted 1 file" }).click()
    const dialog = page.getByRole("alertdialog", { name: "Undo this acceptance?" })
    await dialog.getByText("hours.txt").waitFor()
    await dialog.getByRole("button", { name: "Undo" }).click()
    await until(
      async () => readFileSync(file, "utf8") === textWith({ 35: "mine" }) || undefined,
      "the file as the person left it",
      30_000
    )
    await page.getByText("Lines 1–6").waitFor()
    await browser.end(page)
  })

  it("notifies who decides while the console is hidden, and lists in the palette what waits", async () => {
    const page = await browser.page(joined.front.url, token, "about:blank", {
      viewport: { width: 1_280, height: 800 }
    })
    await page.addInitScript(observedTab)
    await page.goto("/account")
    await page.getByRole("button", { name: "Turn on notifications" }).click()
    await page.getByRole("button", { name: "Turn off notifications" }).waitFor()
    await hideTab(page)
    const { runId } = await joined.task({
      text: "/write notes.txt notes",
      mode: "auto_edit",
      isolation: "worktree"
    })
    await joined.runWith(runId, ({ changes, state }) => state === "completed" && changes?.state === "open")
    const ofChanges = async () => (await notifiedIn(page)).filter((title) => title.startsWith("Changes"))
    await until(async () => ((await ofChanges()).length > 0 ? true : undefined), "a notification", 20_000)
    assert.deepStrictEqual(await ofChanges(), ["Changes to decide: /write notes.txt notes"])

    await hideTab(page, false)
    await page.keyboard.press("Control+k")
    const waiting = page.getByRole("group", { name: "Changes to decide" })
    const option = waiting.getByRole("option", { name: "/write notes.txt notes 1 file to decide" })
    await option.waitFor()
    await page.getByRole("combobox").fill("decide notes.txt")
    await option.click()
    await page.waitForURL(/panel=changes/)
    await page.getByRole("button", { name: "Accept 1 file" }).click()
    await page.getByText("Everything is decided.").waitFor()
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox").waitFor()
    await option.waitFor({ state: "detached" })
    await browser.end(page)
  })
})
