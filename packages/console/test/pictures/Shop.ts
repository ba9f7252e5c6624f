/** A small shop whose repository an example agent works on, on a device of a real Hub: what the pictures of the console show. */
import { assert } from "@effect/vitest"
import type { HubApproval, HubRun } from "@corral/domain/hub-api/HubRun"
import type { SessionId } from "@corral/domain/identity/Ids"
import { makeSession } from "@corral/testing/hub/People"
import { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { execFileSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const agent = fileURLToPath(new URL("exampleAgent.mjs", import.meta.url))

const files = {
  "package.json": `${JSON.stringify({ name: "shop", version: "1.4.0", type: "module", scripts: { test: "node --test" } }, null, 2)}\n`,
  "README.md": "# Shop\n\nThe page of a small shop.\n",
  "CHANGELOG.md": "# Changelog\n\n## 1.4.0\n\n- The page shows the hours.\n",
  "src/hours.js": `/** Opening hours by weekday, in local time. Sunday is day 0. */
const weekdays = { open: 9, close: 18 }

export const hoursOn = () => weekdays

export const isOpen = (date) => {
  const { open, close } = hoursOn(date.getDay())
  return date.getHours() > open && date.getHours() < close
}
`,
  "src/page.js": `import { hoursOn } from "./hours.js"

export const line = (day) => {
  const { open, close } = hoursOn(day)
  return \`Open from \${open}:00 to \${close}:00\`
}
`,
  "test/hours.test.js": `import assert from "node:assert/strict"
import { test } from "node:test"
import { isOpen } from "../src/hours.js"

test("opens at nine on weekdays", () => {
  assert.equal(isOpen(new Date(2026, 10, 23, 9, 30)), true)
})
`
}

/** Copies of the repository, so that several agents work at the same time. */
const copies = ["shop", "shop-calendar", "shop-release"] as const

/** Writes the shop's repository to a new folder. */
const makeRepository = (folder: string, name: string): string => {
  const shop = join(folder, name)
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(shop, name)), { recursive: true })
    writeFileSync(join(shop, name), text)
  }
  const git = (...words: ReadonlyArray<string>) =>
    execFileSync("git", ["-c", "user.name=shop", "-c", "user.email=shop@example.com", ...words], {
      cwd: shop
    })
  git("init", "-q")
  git("add", ".")
  git("commit", "-qm", "Shop")
  return shop
}

export class Shop {
  readonly joined: Joined
  private readonly folder: string

  static async open(): Promise<Shop> {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), "corral-shop-"))
    const config = join(folder, "edge.config.json")
    const acp = { name: "example", command: process.execPath, args: [agent], modes: { ask: "careful" } }
    writeFileSync(config, JSON.stringify({ acp }), { mode: 0o600 })
    // The Edge's usual workspace is linked at its start. The shop replaces it.
    const workspaces = ["ws", ...copies].map((id) => ({ id, path: makeRepository(folder, id) }))
    const joined = await Joined.open({
      edge: {
        env: {
          CORRAL_EDGE_CONFIG_FILE: config,
          CORRAL_EDGE_WORKSPACES: JSON.stringify(workspaces)
        }
      }
    })
    const links = `/client/projects/${joined.projectId}/workspaces`
    for (const workspace of copies) {
      const body = { targetId: joined.deviceId, workspace }
      assert.strictEqual((await joined.owner.ask("POST", links, { body })).status, 201)
    }
    await joined.owner.ask("DELETE", `${links}/${joined.deviceId}/ws`)
    await joined.owner.ask("PATCH", `/client/projects/${joined.projectId}`, { body: { name: "Shop" } })
    return new Shop(joined, folder)
  }

  private constructor(joined: Joined, folder: string) {
    this.joined = joined
    this.folder = folder
  }

  /** A session of the agent in the shop. */
  async session(title: string, workspace: (typeof copies)[number] = "shop"): Promise<SessionId> {
    const { owner, projectId, deviceId } = this.joined
    const { id } = await makeSession(owner, { id: projectId }, title)
    const added = await owner.ask("POST", `/client/sessions/${id}/agents`, {
      body: { agentId: "acp:example", targetId: deviceId, workspace, mode: "ask" }
    })
    assert.strictEqual(added.status, 201, added.text)
    return id
  }

  async send(sessionId: SessionId, text: string): Promise<void> {
    const sent = await this.joined.owner.ask("POST", `/client/sessions/${sessionId}/messages`, {
      body: { text, onOffline: "queue" }
    })
    assert.strictEqual(sent.status, 201, sent.text)
  }

  /** The session's latest run, once it is in one of these states. */
  run(sessionId: SessionId, ...states: ReadonlyArray<HubRun["state"]>): Promise<HubRun> {
    return until(
      async () => {
        const { body } = await this.joined.owner.ask<{ readonly items: ReadonlyArray<HubRun> }>(
          "GET",
          `/client/runs?sessionId=${sessionId}&limit=1`
        )
        return body.items.find(({ state }) => states.includes(state))
      },
      `a run ${states.join(" or ")}`,
      60_000
    )
  }

  /** Allows everything that the session's run asks for, until the run is in that state. */
  async allowAll(sessionId: SessionId, end: HubRun["state"] = "completed"): Promise<HubRun> {
    const { owner } = this.joined
    for (;;) {
      const run = await this.run(sessionId, "waiting_approval", end)
      if (run.state === end) return run
      const { body } = await owner.ask<{ readonly items: ReadonlyArray<HubApproval> }>(
        "GET",
        `/client/runs/${run.id}/approvals`
      )
      for (const { id, state } of body.items)
        if (state === "pending")
          await owner.ask("POST", `/client/approvals/${id}/decide`, { body: { decision: "allow" } })
    }
  }

  async remove(): Promise<void> {
    await this.joined.remove()
    rmSync(this.folder, { recursive: true, force: true })
  }
}
