/** Groups of candidates over the whole chain, with a few kills; `Candidates.soak` has many. And a review whose comments reach the agent. */
import type { ChangedFileContent, ChangeSetPage, DecidedChanges } from "@corral/domain/edge-api/ChangeSet"
import type { TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Envelope } from "@corral/domain/run/RunEvent"
import { openJoined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { killGroup, SLOTS, verifySlots, withBase } from "./CandidateKills.ts"
import { chanceOf } from "./Chaos.ts"

describe("candidates over the whole chain", () => {
  it("are neither lost nor started twice when their Hub or Edge is killed", async () => {
    const chance = chanceOf()
    const joined = await openJoined({
      makeEdge: withBase,
      edge: { grants: ["full_access"], env: { CORRAL_EDGE_MAX_RUNS: String(SLOTS) } }
    })
    for (let round = 0; round < 2; round++) await killGroup({ joined, chance, isolation: "worktree" }, round)
    await verifySlots(joined)
  })

  it("are reviewed: one part is accepted as it was edited, and the agent of another reads what was rejected", async () => {
    const joined = await openJoined({ makeEdge: withBase, edge: { grants: ["full_access"] } })
    const { owner } = joined
    const created = await joined.tryTask({
      text: "/write notes.txt one\\ntwo\\n\n/say done",
      mode: "full_access",
      isolation: "worktree",
      candidates: ["small", "large"].map((model) => ({ agentId: "scripted", model }))
    })
    assert.strictEqual(created.status, 201, created.text)
    const group = await until(
      async () => {
        const { body } = await owner.ask<TaskGroup>("GET", `/client/task-groups/${created.body.groupId}`)
        return body.candidates.every(({ changes }) => changes?.live === false) ? body : undefined
      },
      "both candidates with their changes",
      60_000
    )
    const [one, two] = group.candidates.flatMap(({ run }) => run?.id ?? [])
    assert.isDefined(one)
    assert.isDefined(two)
    const hunkOf = async (runId: RunId) => {
      const page = await owner.ask<ChangeSetPage>("GET", `/client/runs/${runId}/changes`)
      const file = page.body.items.find(({ path }) => path === "notes.txt")
      assert.isDefined(file, page.text)
      const path = `/client/runs/${runId}/changes/files/${file.id}`
      const hunk = (await owner.ask<ChangedFileContent>("GET", path)).body.items[0]
      assert.isDefined(hunk)
      return hunk.id
    }
    const decide = async (runId: RunId, kind: "accept" | "reject", body: object) => {
      const path = `/client/runs/${runId}/changes/${kind}`
      const answer = await owner.ask<DecidedChanges>("POST", path, { body })
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body.decision
    }
    const accepted = await hunkOf(one)
    const edits = [{ hunkId: accepted, lines: ["one", "three"] }]
    const decision = await decide(one, "accept", { parts: { hunks: [accepted] }, edits })
    assert.strictEqual(decision.edited, 1)
    const inWorkspace = join(joined.edge.workspace, "notes.txt")
    assert.isTrue(existsSync(inWorkspace))
    assert.strictEqual(readFileSync(inWorkspace, "utf8"), "one\nthree\n")
    const rejected = await hunkOf(two)
    const comments = [{ hunkId: rejected, text: "Count further.", suggestion: ["one", "two", "three"] }]
    await decide(two, "reject", { parts: { hunks: [rejected] }, comments })
    const agent = group.candidates[1]?.agentInstanceId
    const body = { text: "/say again", to: agent, mode: "full_access" }
    const sent = await owner.ask("POST", `/client/sessions/${group.sessionId}/messages`, { body })
    assert.strictEqual(sent.status, 201, sent.text)
    const next = await until(
      async () => {
        const { body } = await owner.ask<TaskGroup>("GET", `/client/task-groups/${group.id}`)
        const { run, runs } = body.candidates[1] ?? {}
        return runs === 2 && run?.state === "completed" ? run.id : undefined
      },
      "the next turn",
      60_000
    )
    const events = await owner.ask<{ readonly items: ReadonlyArray<Envelope> }>(
      "GET",
      `/client/runs/${next}/events?limit=50`
    )
    const begin = JSON.stringify(events.body.items[0]?.payload)
    for (const part of ["notes.txt", "Count further.", '"suggestion":["one","two","three"]'])
      assert.include(begin, part)
  })
})
