import { ApprovalRequest } from "@corral/domain/Approval"
import type { RunMode } from "@corral/domain/Run"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { grantKey, judge } from "../../src/approval/Policy.ts"
import { request } from "../Samples.ts"

const runs = { arbitrary: { runs: 300 } }
const Requests = Arbitrary.schema(ApprovalRequest)
const Granted = Arbitrary.map(Arbitrary.array(Requests, { maxLength: 5 }), (all) => all.map(grantKey))
const modes: ReadonlyArray<RunMode> = ["read_only", "plan", "ask", "auto_edit", "full_access"]

const outside = [
  "",
  "/etc/passwd",
  "//host/share",
  "../escaped.txt",
  "src/../../escaped.txt",
  "src/..",
  "..",
  "..\\escaped.txt",
  "src\\..\\..\\escaped.txt",
  "src/..\\../escaped.txt",
  "C:\\Windows\\system.ini",
  "c:notes.txt",
  "Z:/notes.txt"
]
const inside = ["notes.txt", "src/main.ts", ".env", "a..b", "..notes", "...", "src/...", "a b/ü.txt", "ab:c"]

describe("judge", () => {
  it.prop(
    "never allows in read_only and plan, whatever was granted",
    [Requests, Granted],
    ([asked, granted]) => {
      for (const mode of ["read_only", "plan"] as const) {
        assert.strictEqual(judge(mode, new Set([...granted, grantKey(asked)]), asked)._tag, "Deny")
      }
    },
    runs
  )

  it.prop(
    "never allows anything but writes of named files in auto_edit",
    [Requests],
    ([asked]) => {
      const verdict = judge("auto_edit", new Set(), asked)
      if (asked.action !== "write" || asked.files === undefined || asked.files.length === 0) {
        assert.deepStrictEqual(verdict, { _tag: "Ask" })
      }
    },
    runs
  )

  it.each(outside)("asks in auto_edit before a write to %j, alone or among others", (path) => {
    for (const files of [[path], ["notes.txt", path], [path, "notes.txt"]]) {
      assert.deepStrictEqual(judge("auto_edit", new Set(), request({ files })), { _tag: "Ask" })
    }
  })

  it.each(inside)("allows in auto_edit a write to %j", (path) => {
    assert.deepStrictEqual(judge("auto_edit", new Set(), request({ files: [path] })), {
      _tag: "Allow",
      by: "policy:mode"
    })
  })

  it.each(["\\Windows\\system.ini", "\\\\server\\share\\notes.txt"])(
    "takes %j for a path outside, as it is where backslashes separate",
    (path) =>
      assert.deepStrictEqual(judge("auto_edit", new Set(), request({ files: [path] })), { _tag: "Ask" })
  )

  it.prop(
    "asks about everything in ask mode, and allows all in full_access",
    [Requests],
    ([asked]) => {
      assert.deepStrictEqual(judge("ask", new Set(), asked), { _tag: "Ask" })
      assert.deepStrictEqual(judge("full_access", new Set(), asked), { _tag: "Allow", by: "policy:mode" })
    },
    runs
  )

  it.prop(
    "allows what was granted, exactly",
    [Requests],
    ([asked]) => {
      const verdict = judge("ask", new Set([grantKey(asked)]), asked)
      assert.deepStrictEqual(verdict, { _tag: "Allow", by: "policy:remembered" })
    },
    runs
  )

  const Text = Schema.String
  it.prop(
    "never takes a grant for one command as one for another command, folder, tool, file, address or action",
    [Requests, Text, Text, Requests],
    ([first, one, other, second]) => {
      const shell = { ...first, action: "shell", command: one } as const
      const changed: ReadonlyArray<ApprovalRequest> = [
        { ...shell, command: other },
        { ...shell, command: `${one} ; ${other}` },
        { ...shell, command: `${one}\n${other}` },
        { ...shell, cwd: other },
        { ...shell, tool: other },
        { ...shell, files: [other] },
        { ...shell, url: other },
        { ...shell, action: "network" },
        second
      ]
      const granted = new Set([grantKey(shell)])
      for (const asked of changed) {
        const same =
          asked.action === shell.action &&
          asked.command === shell.command &&
          asked.cwd === shell.cwd &&
          asked.tool === shell.tool &&
          asked.url === shell.url &&
          JSON.stringify(asked.files) === JSON.stringify(shell.files)
        assert.strictEqual(judge("ask", granted, asked)._tag, same ? "Allow" : "Ask")
      }
    },
    runs
  )

  it("tells apart requests that only their input names", () => {
    const named = (input: unknown) => request({ action: "network", tool: "send", input })
    const granted = new Set([grantKey(named({ to: "one" }))])
    assert.strictEqual(judge("ask", granted, named({ to: "one" }))._tag, "Allow")
    assert.strictEqual(judge("ask", granted, named({ to: "another" }))._tag, "Ask")
    assert.strictEqual(judge("ask", granted, request({ action: "network", tool: "send" }))._tag, "Ask")
  })

  it("does not mistake a list of files for a name that looks like it", () => {
    const granted = new Set([grantKey(request({ files: ["a", "b"] }))])
    for (const files of [["a,b"], ["a", "b", ""], ["b", "a"], ['a","b']]) {
      assert.strictEqual(judge("ask", granted, request({ files }))._tag, "Ask", files.join())
    }
  })

  it("says who allowed or refused and why", () => {
    for (const mode of modes) {
      const verdict = judge(mode, new Set(), request({ files: ["a"] }))
      if (verdict._tag !== "Ask") assert.strictEqual(verdict.by, "policy:mode")
      if (verdict._tag === "Deny") assert.include(verdict.reason, mode)
    }
  })
})
