/**
 * Every page of the console with content: runs in each state, decisions, a pending approval, a session, and texts that are long or have many
 * directions. The addresses are for tests that open all pages.
 */
import { assert } from "@effect/vitest"
import { makeSession } from "@corral/testing/hub/People"
import type { Joined } from "@corral/testing/stack/Joined"
import type { Page } from "playwright-core"
import { sendMessage, sessionWithAgent, turnWith } from "./SessionFixtures.ts"

const long = `echo ${"a-long-word-".repeat(150)} && printf '%s' "${"x".repeat(400)}"`
const answer =
  "The hours are in `hours.js`. **Two things** are open: the tests, and a [link](https://example.com)."

export const pageNames = [
  "home",
  "projects",
  "project",
  "workspaces",
  "members",
  "settings",
  "session",
  "talk",
  "changes",
  "files",
  "log",
  "start",
  "board",
  "runs",
  "run",
  "waiting",
  "rejected",
  "failed",
  "approvals",
  "edited",
  "task",
  "usage",
  "devices",
  "presets",
  "audit",
  "deeds",
  "auditTable",
  "account",
  "nowhere"
] as const
export type PageName = (typeof pageNames)[number]

/** A profile that the owner can change from the console, one that only the device can, and a runner. */
const makePresets = async ({ client }: Joined["edge"]): Promise<void> => {
  const settings = {
    label: "Careful with a long name that a phone has to wrap",
    adapter: "scripted",
    mode: "plan"
  }
  for (const body of [
    { id: "careful", kind: "profile", settings: { ...settings, model: "small-model-2026-11" } },
    {
      id: "deployer",
      kind: "profile",
      settings: { label: "Deployer", adapter: "scripted", env: ["DEPLOY_KEY"] }
    },
    {
      id: "parrot",
      kind: "runner",
      settings: { label: "Parrot", runtime: "text", command: ["cat"], stdin: "prompt" }
    }
  ]) {
    const answer = await client.ask("POST", "/v1/presets", { body })
    assert.strictEqual(answer.status, 201, answer.text)
  }
}

/** Makes the content of all pages. Returns the path of each page. */
export const makePages = async (joined: Joined): Promise<Readonly<Record<PageName, string>>> => {
  const { owner, projectId } = joined
  const pendingOf = async (text: string) => {
    const { runId, task } = await joined.task({ text })
    const { pendingApprovals } = await joined.runWith(runId, (run) => run.pendingApprovals.length > 0)
    return { approvalId: String(pendingApprovals[0]), runId, task }
  }
  const decide = async (id: string, body: object) => {
    const answer = await owner.ask("POST", `/client/approvals/${id}/decide`, { body })
    assert.strictEqual(answer.status, 200, answer.text)
  }
  await makePresets(joined.edge)
  const edited = await pendingOf(
    `/say Look at this.\n/shell ${long}\n/write made.txt first\\nsecond\n/say after`
  )
  await decide(edited.approvalId, { decision: "allow", updatedInput: { command: "echo harmless" } })
  const { pendingApprovals } = await joined.runWith(
    edited.runId,
    ({ pendingApprovals: ids }) => ids.length > 0 && String(ids[0]) !== edited.approvalId
  )
  await decide(String(pendingApprovals[0]), { decision: "allow", scope: "run" })
  await joined.runWith(edited.runId, ({ state }) => state === "completed")
  const rejected = await pendingOf(`/write NOTES.md no\n/fail I cannot go on without it`)
  await decide(rejected.approvalId, { decision: "deny", reason: "not in this folder" })
  await joined.runWith(rejected.runId, ({ state }) => state === "failed")
  const { runId: failed } = await joined.task({ text: "/fail The runtime is not signed in." })
  await joined.runWith(failed, ({ state }) => state === "failed")
  const talk = await sessionWithAgent(joined, "Write the opening hours")
  await sendMessage(
    joined,
    talk,
    `/say I read the notes first.\n/write hours.js export const open = 8\\n\n/say ${answer}`
  )
  const waitingTurn = await turnWith(joined, talk, (run) => run.pendingApprovals.length > 0)
  await decide(String(waitingTurn.pendingApprovals[0]), { decision: "allow" })
  await turnWith(joined, talk, ({ state }) => state === "completed")
  // It holds the workspace: the last one.
  const pending = await pendingOf(`/shell ${long}`)
  const session = await makeSession(
    owner,
    { id: projectId },
    "A session with a long title that does not fit on a phone"
  )
  return {
    home: "/",
    projects: "/projects",
    project: `/projects/${projectId}`,
    workspaces: `/projects/${projectId}?tab=workspaces`,
    members: `/projects/${projectId}?tab=members`,
    settings: `/projects/${projectId}?tab=settings`,
    session: `/sessions/${session.id}`,
    talk: `/sessions/${talk.id}`,
    changes: `/sessions/${talk.id}?panel=changes`,
    files: `/sessions/${talk.id}?panel=files`,
    log: `/sessions/${talk.id}?panel=log`,
    start: `/start?projectId=${projectId}`,
    board: "/board",
    runs: "/runs",
    run: `/runs/${edited.runId}`,
    waiting: `/runs/${pending.runId}`,
    rejected: `/runs/${rejected.runId}`,
    failed: `/runs/${failed}`,
    approvals: "/approvals",
    edited: `/approvals/${edited.approvalId}`,
    task: `/tasks/${edited.task.id}`,
    usage: `/usage?projectId=${projectId}`,
    devices: "/devices",
    presets: `/devices/${joined.deviceId}/presets`,
    audit: `/audit?projectId=${projectId}`,
    deeds: "/audit?action=approval.decide",
    auditTable: `/audit?projectId=${projectId}&view=table`,
    account: "/account",
    nowhere: "/nowhere"
  }
}

/** Opens a page as a new document: nothing of the page before is left but what the browser keeps of files. Waits until it is complete. */
export const openDirectly = async (page: Page, address: string): Promise<void> => {
  await page.goto("about:blank")
  await page.goto(address)
  // The page of a task leads to its run.
  if (address.includes("/tasks/")) await page.waitForURL(/\/runs\//)
  // A panel that covers a narrow page hides its heading from screen readers.
  await page.getByRole("heading", { level: 1, includeHidden: true }).waitFor()
  if (address.includes("panel=")) await page.getByRole("tab").first().waitFor()
  // Every page but the overview has content beyond its head; a list that loads says so.
  await page.locator("main [role=status]", { hasText: "Loading" }).first().waitFor({ state: "detached" })
  await page.locator(".skeleton").first().waitFor({ state: "detached" })
  await page.locator("main [aria-busy=true]").first().waitFor({ state: "detached" })
  await page.getByRole("heading", { level: 1, includeHidden: true }).waitFor()
  await page.evaluate("document.fonts.ready")
}
