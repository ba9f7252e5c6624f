/**
 * Statements with a limit, of the Hub, the Gateway and the Edge. A pass over "the oldest N of everything" stops where N rows do not move, so each pass
 * has a test that fills its batch with such rows. A new statement fails this test until it is named here.
 */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

/**
 * `page`: the next part of a list, after the position of its reader. `few`: a bounded number of rows of one owner, for one answer. `queue`: the first rows of
 * the queue of one device, agent or run, in its order: they hold up only themselves. `whole`: repeats until nothing is left, and no row of it can
 * stay. `pass`: reads rows of many owners that may stay.
 */
type Kind = "few" | "page" | "queue" | "whole" | "pass"

/** Of each file, in the order of its statements. */
const statements: Readonly<Record<string, ReadonlyArray<Kind>>> = {
  "edge/approval/Grants": ["page", "page"],
  "edge/artifact/Artifacts": ["page", "few"],
  "edge/change/ChangePushes": ["queue", "few"],
  "edge/change/ChangeRows": ["few", "page"],
  "edge/http/AgentHostSessions": ["few"],
  "edge/journal/RunJournal": ["few"],
  "edge/layer/LayerRows": ["page"],
  "edge/log/EdgeIdempotency": ["whole"],
  "edge/log/Runs": ["few", "page", "few", "few", "few"],
  "edge/log/StoreExamination": ["page", "page"],
  "edge/retention/Retention": ["few", "queue"],
  "edge/store/EdgeRequestRows": ["page"],
  "edge/store/migrations": ["few"],
  "edge/workspace/WorktreeRows": ["page"],
  "gateway/following/Follows": ["few", "few", "few", "pass"],
  "gateway/following/RequestCardStore": ["few", "few"],
  "gateway/handling/Notices": ["pass"],
  "gateway/inbox/SenderQueues": ["pass"],
  "gateway/inbox/Inbox": ["few", "pass"],
  "hub/HubIdempotency": ["few"],
  "hub/attachment/Uploads": ["pass"],
  "hub/audit/Audit": ["few"],
  "hub/audit/AuditTrail": ["page", "page", "page", "page", "page", "page"],
  "hub/change/ChangeSets": ["few"],
  "hub/chat/ChatBindings": ["page", "queue"],
  "hub/conversation/AgentConversations": ["page", "few", "page", "page"],
  "hub/conversation/Deliveries": ["pass", "pass", "pass"],
  "hub/conversation/LiveInputs": ["pass", "queue", "queue"],
  "hub/conversation/MessageSending": ["few"],
  "hub/conversation/NextTurn": ["queue", "few"],
  "hub/conversation/SessionExport": ["page"],
  "hub/conversation/SessionFork": ["few"],
  "hub/conversation/Transcript": ["few"],
  "hub/device/Devices": ["page", "page"],
  "hub/device/Inventory": ["page", "page"],
  "hub/edges/CommandTable": ["queue"],
  "hub/http/Public": ["few"],
  "hub/inspection/Findings": ["few", "few"],
  "hub/link/LinkServer": ["few"],
  "hub/live/ChangeQueries": ["few", "few", "few", "few", "few"],
  "hub/project/Projects": ["page", "page", "few", "page"],
  "hub/project/WorkspaceLinks": ["page"],
  "hub/run/Retention": ["few", "few", "few", "queue", "pass"],
  "hub/run/RunConversation": ["few"],
  "hub/run/RunLog": ["page"],
  "hub/search/Search": ["few", "page", "page"],
  "hub/search/SearchIndexer": ["page", "pass"],
  "hub/session/MessageStore": ["page", "few", "page"],
  "hub/session/SessionAgentStore": ["page"],
  "hub/session/SessionTable": ["few"],
  "hub/session/Sessions": ["page", "page"],
  "hub/session/TaskInSession": ["few"],
  "hub/signin/ApiKeyStore": ["page"],
  "hub/signin/SignInStore": ["page"],
  "hub/signin/Users": ["few"],
  "hub/store/Database": ["few"],
  "hub/store/ListPage": ["page", "page", "page"],
  "hub/task/ClosedCandidates": ["page", "page"],
  "hub/task/TaskClaims": ["queue"],
  "hub/usage/UsageReports": ["few"]
}

/** The tests that fill the batches of the passes. */
const tested: Readonly<Record<string, string>> = {
  "gateway/following/Follows": "gateway/test/store/LockedBatches.test.ts",
  "gateway/handling/Notices": "gateway/test/store/LockedBatches.test.ts",
  "gateway/inbox/SenderQueues": "gateway/test/store/LockedBatches.test.ts",
  "gateway/inbox/Inbox": "gateway/test/store/LockedBatches.test.ts",
  "hub/attachment/Uploads": "hub/test/store/LockedBatches.test.ts",
  "hub/conversation/Deliveries": "hub/test/store/LockedBatches.test.ts",
  "hub/conversation/LiveInputs": "hub/test/store/LockedBatches.test.ts",
  "hub/run/Retention": "hub/test/store/LockedBatches.test.ts",
  "hub/search/SearchIndexer": "hub/test/store/LockedBatches.test.ts"
}

const packages = fileURLToPath(new URL("../../../", import.meta.url))

/** A limit in the text of a statement, and not in that of a comment or a name. */
const limit = /\bLIMIT (?:\$\{|\d|\?)|limitTo\(sql, /g

const found = ["edge", "gateway", "hub"].flatMap((name) =>
  globSync("**/*.ts", { cwd: join(packages, name, "src") }).flatMap((file) => {
    const count = readFileSync(join(packages, name, "src", file), "utf8").match(limit)?.length ?? 0
    return count === 0 || file === "store/Limit.ts" ? [] : [[`${name}/${file.slice(0, -3)}`, count] as const]
  })
)

describe("Statements with a limit", () => {
  it.each(found)("in %s are named by their kinds", (file, count) =>
    assert.lengthOf(statements[file] ?? [], count)
  )

  it("that are named exist", () => {
    const files = new Set<string>(found.map(([file]) => file))
    assert.deepStrictEqual(
      Object.keys(statements).filter((file) => !files.has(file)),
      []
    )
  })

  it("that are passes have a test with rows that do not move", () => {
    const passes = Object.keys(statements).filter((file) => statements[file]?.includes("pass"))
    assert.deepStrictEqual(Object.keys(tested), passes)
    for (const [file, test] of Object.entries(tested)) {
      assert.isTrue(existsSync(join(packages, test)), test)
      const name = file.slice(file.lastIndexOf("/") + 1)
      assert.include(readFileSync(join(packages, test), "utf8"), name, test)
    }
  })
})
