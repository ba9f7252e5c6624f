import { assert, describe, it } from "@effect/vitest"
import type { AuditRecord } from "@corral/domain/access/Audit"
import { type AuditAction, auditActionNames } from "@corral/domain/access/AuditAction"
import { type AuditNames, auditSentence } from "../../src/audit/AuditList.tsx"
import { sentenceText } from "../../src/audit/auditTexts.ts"

const ulid = "01KAAAAAAAAAAAAAAAAAAAAAAA"
const id = (prefix: string) => `${prefix}_${ulid}`

/** Kind of resource that an action is recorded for. */
const resourceOf = (action: AuditAction): string => {
  if (action.startsWith("project") || action === "policy.manage" || action === "audit.read") return id("prj")
  if (action.startsWith("device") || action === "task.route") return id("dev")
  if (action === "member.manage") return id("usr").replace("K", "M")
  if (action === "session.write") return id("ses")
  if (action === "task.create") return id("tsk")
  if (action === "approval.decide") return id("apr")
  if (action.startsWith("run")) return id("run")
  return id("sin")
}

const recordOf = (action: AuditAction, more: Partial<AuditRecord> = {}): AuditRecord => ({
  id: id("aud") as AuditRecord["id"],
  seq: 1,
  at: "2026-11-22T01:00:00.000Z",
  actor: id("usr"),
  action,
  resource: resourceOf(action),
  outcome: "allowed",
  code: null,
  requestId: "req_1" as AuditRecord["requestId"],
  projectId: id("prj") as AuditRecord["projectId"],
  prevHash: "0".repeat(64),
  hash: "0".repeat(64),
  ...more
})

const knownNames = new Map([
  [id("usr"), "Ada"],
  [id("usr").replace("K", "M"), "Ben"],
  [id("prj"), "Atlas"],
  [id("dev"), "studio"],
  [id("ses"), "Opening hours"],
  [id("run"), "Fix the tests"],
  [id("apr"), "Write denied.txt"]
])
const names: AuditNames = {
  userId: id("usr").replace("K", "N"),
  nameOf: (each) => knownNames.get(each),
  agentOf: (each) => (each === id("tsk") ? "Claude Code" : undefined),
  reasonOf: (each) => (each === id("apr") ? "not in that folder" : undefined)
}
const noNames: AuditNames = {
  userId: names.userId,
  nameOf: () => undefined,
  agentOf: () => undefined,
  reasonOf: () => undefined
}
const decided = (decision: "allow" | "deny" | "cancel", more: object = {}) => ({
  details: {
    decision,
    scope: "once",
    edited: false,
    origin: "console",
    runId: id("run"),
    approvalId: id("apr"),
    ...more
  } as NonNullable<AuditRecord["details"]>
})
const sentenceFor = (record: AuditRecord, language: "en" | "zh" = "en", by = names) =>
  sentenceText(auditSentence(record, by, language))

describe("auditSentence", () => {
  const outcomes = [
    ["allowed", null],
    ["denied", "permission_denied"],
    ["failed", "conflict"],
    ["failed", "a_code_of_a_later_version"]
  ] as const

  it.each(auditActionNames)(
    "says %s with each outcome, in each language, without ids and codes",
    (action) => {
      for (const [outcome, code] of outcomes)
        for (const language of ["en", "zh"] as const)
          for (const by of [names, noNames]) {
            const sentence = sentenceFor(recordOf(action, { outcome, code }), language, by)
            assert.notMatch(
              sentence,
              /[a-z]{3}_[0-9A-Z]|undefined|_|\s{2}|\s$|^\s|[\u4e00-\u9fff] [\u4e00-\u9fff]/,
              sentence
            )
            assert.isAbove(sentence.length, language === "en" ? 12 : 5, sentence)
            assert.strictEqual(/[\u4e00-\u9fff]/.test(sentence), language === "zh", sentence)
          }
    }
  )

  it("says decisions with their reason, changes and reach", () => {
    const decide = (more: Partial<AuditRecord>) => sentenceFor(recordOf("approval.decide", more))
    assert.strictEqual(decide(decided("deny")), "Ada denied Write denied.txt: not in that folder")
    assert.strictEqual(decide(decided("allow")), "Ada allowed Write denied.txt")
    assert.strictEqual(
      decide(decided("allow", { edited: true, scope: "run" })),
      "Ada allowed Write denied.txt with changes for the run"
    )
    assert.strictEqual(decide(decided("cancel")), "Ada cancelled the run at Write denied.txt")
    assert.strictEqual(
      decide({ ...decided("allow"), outcome: "denied", code: "permission_denied" }),
      "Ada tried to allow Write denied.txt. Refused: no permission"
    )
    assert.strictEqual(
      sentenceFor(recordOf("approval.decide", decided("deny")), "zh"),
      "Ada 拒绝了 Write denied.txt：not in that folder"
    )
  })

  it("says who did what to what", () => {
    assert.strictEqual(sentenceFor(recordOf("task.create")), "Ada started a run of Claude Code in Atlas")
    assert.strictEqual(
      sentenceFor(recordOf("task.create"), "zh"),
      "Ada 启动了项目 Atlas 中的一次 Claude Code 运行"
    )
    assert.strictEqual(sentenceFor(recordOf("member.manage")), "Ada changed the membership of Ben in Atlas")
    assert.strictEqual(
      sentenceFor(recordOf("run.cancel", { outcome: "failed", code: "run_not_cancellable" })),
      "Ada tried to cancel the run Fix the tests. Failed: the run had ended"
    )
    assert.strictEqual(
      sentenceFor(recordOf("device.connect", { actor: id("dev") })),
      "Device studio connected"
    )
    assert.strictEqual(
      sentenceFor(recordOf("chat.bind", { actor: "gateway" })),
      "The chat gateway linked a chat account"
    )
    assert.strictEqual(
      sentenceFor(recordOf("session.write", { actor: names.userId })),
      "You worked in the session Opening hours"
    )
    assert.strictEqual(
      sentenceFor(recordOf("project.update", { resource: id("dev") })),
      "Ada changed the workspaces of studio in Atlas"
    )
  })

  it("keeps names on one line and shows invisible characters", () => {
    const hostile = { ...names, nameOf: () => "a\u202eb\nc" }
    assert.strictEqual(
      sentenceFor(recordOf("project.create"), "en", hostile),
      "a<U+202E>b c created the project a<U+202E>b c"
    )
  })
})
