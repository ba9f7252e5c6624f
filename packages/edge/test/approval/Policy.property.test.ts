import { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { editAnswer } from "../../src/approval/OrdinaryFiles.ts"
import { type WorkspaceGrants, decideByPolicy } from "../../src/approval/Policy.ts"
import { request } from "../Samples.ts"
import { all, allow, place, policyOf, verdictOn } from "./RunPolicies.ts"
import { tries } from "@corral/testing/time/Effort"

const runs = tries(100)
const Requests = Arbitrary.schema(ApprovalRequest)
const modes: ReadonlyArray<RunMode> = ["read_only", "plan", "ask", "auto_edit", "full_access"]

const nothing: WorkspaceGrants = { configured: () => false, remembered: () => undefined }
const everything: WorkspaceGrants = { configured: () => true, remembered: () => "gra_1" }
const need = { action: "tool", tool: "any", input: "{}" } as const

const isOrdinary = (path: string) => editAnswer(place.targetOf(path)).answer === "allow"
const decide = (mode: RunMode, verdictOf: ApprovalRequest) =>
  decideByPolicy(mode, verdictOf, [need], nothing, isOrdinary)

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
  "Z:/notes.txt",
  "\\Windows\\system.ini",
  "\\\\server\\share\\notes.txt",
  ".git/hooks/pre-commit",
  "sub/.GIT/config",
  ".git "
]
const inside = [
  "notes.txt",
  "src/main.ts",
  "src/a..b.ts",
  "a b/ü.txt",
  "app/[id]/page.tsx",
  "/ws/src/main.ts"
]

describe("judge", () => {
  it.prop(
    "never allows in read_only and plan, regardless of grants",
    [Requests],
    ([requested]) => {
      for (const mode of ["read_only", "plan"] as const) {
        assert.strictEqual(decideByPolicy(mode, requested, [need], everything, () => true)._tag, "Deny")
      }
    },
    runs
  )

  it.prop(
    "never allows anything but writes of named files in auto_edit",
    [Requests],
    ([requested]) => {
      const { action, command, files = [], url } = requested
      if (action !== "write" || command !== undefined || url !== undefined || files.length === 0) {
        assert.deepStrictEqual(decide("auto_edit", requested), { _tag: "Ask" })
      }
    },
    runs
  )

  it.each(outside)("asks in auto_edit before a write to %j, alone or among others", (path) => {
    for (const files of [[path], ["notes.txt", path], [path, "notes.txt"]]) {
      assert.deepStrictEqual(decide("auto_edit", request({ files })), { _tag: "Ask" })
      assert.strictEqual(verdictOn(policyOf({ mode: "auto_edit" }), request({ files }))._tag, "Ask")
    }
  })

  it.each(inside)("allows in auto_edit a write to %j", (path) => {
    const expected = { _tag: "Allow", by: "policy:mode" } as const
    assert.deepStrictEqual(decide("auto_edit", request({ files: [path] })), expected)
  })

  it.each([
    ".envrc",
    "sub/.bashrc",
    ".husky/pre-commit",
    ".github/workflows/ci.yml",
    ".vscode/tasks.json",
    ".claude/settings.json",
    ".mcp.json"
  ])("asks in auto_edit before a write to %j, which is read as commands later", (path) => {
    assert.deepStrictEqual(verdictOn(policyOf({ mode: "auto_edit" }), request({ files: [path] })), {
      _tag: "Ask"
    })
  })

  it.prop(
    "asks about everything in ask mode, and allows all in full_access",
    [Requests],
    ([requested]) => {
      assert.deepStrictEqual(verdictOn(policyOf(), requested), { _tag: "Ask" })
      const allowed = { _tag: "Allow", by: "policy:mode" } as const
      assert.deepStrictEqual(verdictOn(policyOf({ mode: "full_access" }), requested), allowed)
    },
    runs
  )

  it("allows nothing that a grant cannot cover", () => {
    for (const mode of ["ask", "auto_edit"] as const) {
      for (const needs of [undefined, []]) {
        assert.deepStrictEqual(
          decideByPolicy(mode, request(), needs, everything, () => false),
          { _tag: "Ask" }
        )
      }
    }
  })

  it("says who allowed or refused and why", () => {
    for (const mode of modes) {
      const verdict = decide(mode, request({ files: ["a"] }))
      if (verdict._tag !== "Ask") assert.strictEqual(verdict.by, "policy:mode")
      if (verdict._tag === "Deny") assert.include(verdict.reason, mode)
    }
    const by = (granted: WorkspaceGrants) => decideByPolicy("ask", request(), [need], granted, () => false)
    assert.deepStrictEqual(by(everything), { _tag: "Allow", by: "policy:workspace" })
    assert.deepStrictEqual(by({ ...nothing, remembered: () => "gra_1" }), {
      _tag: "Allow",
      by: "policy:remembered:gra_1"
    })
  })
})

describe("What is remembered", () => {
  it.prop(
    "is offered, and covers the request again; what is not offered is allowed once",
    [Requests],
    ([any]) => {
      const options = { ...any, scopes: [...all] }
      const policy = policyOf()
      const { scopes } = policy.assess(options).request
      const { scope } = allow(policy, options, "run")
      assert.strictEqual(scope, scopes.includes("run") ? "run" : "once")
      assert.strictEqual(verdictOn(policy, options)._tag, scope === "run" ? "Allow" : "Ask")
    },
    runs
  )

  const Text = Schema.String
  it.prop(
    "for one tool, file, address or input is nothing for another",
    [Text, Text, Text, Text],
    ([tool, otherTool, one, other]) => {
      const kinds: ReadonlyArray<(tool: string, value: string) => ApprovalRequest> = [
        // In hexadecimal: "f" and "f/" are one file.
        (tool, value) =>
          request({ tool, files: [`f-${Buffer.from(value, "utf16le").toString("hex")}`], scopes: [...all] }),
        (tool, value) => request({ tool, action: "network", input: { value }, scopes: [...all] }),
        (tool, value) =>
          request({
            tool,
            url: `https://h${[...value].map((c) => c.codePointAt(0)).join("-")}.example`,
            scopes: [...all]
          })
      ]
      for (const kind of kinds) {
        const policy = policyOf()
        allow(policy, kind(tool, one), "run")
        for (const approvalRequest of [
          kind(tool, other),
          kind(otherTool, one),
          request({ tool, scopes: [...all] })
        ]) {
          const same = JSON.stringify(approvalRequest) === JSON.stringify(kind(tool, one))
          if (!same && !sameHost(approvalRequest, kind(tool, one)))
            assert.strictEqual(verdictOn(policy, approvalRequest)._tag, "Ask")
        }
      }
    },
    runs
  )

  const sameHost = (a: ApprovalRequest, b: ApprovalRequest): boolean =>
    a.tool === b.tool &&
    a.url !== undefined &&
    b.url !== undefined &&
    (!URL.canParse(a.url) || !URL.canParse(b.url) || new URL(a.url).host === new URL(b.url).host)
})
