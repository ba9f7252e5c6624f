/** Arbitrary display blocks of a run, as `RunView` makes them: their `seq` increases, and some refer to the same call. */
import type { RunBlock } from "@corral/domain/run/RunBlock"
import * as fc from "fast-check"

const at = "2026-01-01T00:00:00.000Z"
const bounded = (text: string) => ({ text, size: text.length, from: 1, to: 1, skipped: 0 })
const callId = fc.constantFrom("a", "b", "c")
const anyCall = fc.option(callId, { nil: undefined })
const scopes = ["once", "run"] as const

type WithoutStart<B> = B extends RunBlock ? Omit<B, "seq" | "at"> : never

const tool = fc
  .record({ callId, tool: fc.constantFrom("Read", "grep", "Bash", "Write", "mcp__x__y") })
  .map((of): WithoutStart<RunBlock> => ({
    kind: "tool",
    ...of,
    label: `Run ${of.tool}`,
    input: undefined,
    status: "started",
    isWaiting: false,
    allowedInput: undefined,
    output: undefined,
    exitCode: undefined,
    artifactId: undefined,
    endedAt: undefined
  }))
const approval = anyCall.map((of): WithoutStart<RunBlock> => ({
  kind: "approval",
  approvalId: "apr",
  expiresAt: at,
  state: "pending",
  resolution: undefined,
  request: {
    action: "shell",
    risk: "low",
    title: "Run it",
    editable: false,
    scopes,
    ...(of === undefined ? {} : { callId: of })
  }
}))
const file = anyCall.map((of): WithoutStart<RunBlock> => ({
  kind: "file",
  path: "a.txt",
  fromPath: undefined,
  change: "read",
  callId: of
}))
const patch = anyCall.map((of): WithoutStart<RunBlock> => ({
  kind: "patch",
  path: "a.txt",
  patch: bounded("+a"),
  callId: of
}))
const message = fc
  .constantFrom("assistant" as const, "user" as const)
  .map((role): WithoutStart<RunBlock> => ({
    kind: "message",
    messageId: "m",
    role,
    channel: "text",
    body: bounded("hello"),
    partial: false
  }))
const gap = fc.constant<WithoutStart<RunBlock>>({ kind: "gap", from: 1, to: 2 })

export const blocksOfRun: fc.Arbitrary<ReadonlyArray<RunBlock>> = fc
  .array(fc.oneof(tool, approval, file, patch, message, gap), { maxLength: 40 })
  .map((blocks) => blocks.map((block, nth): RunBlock => ({ ...block, seq: nth + 1, at })))

/** A later version of a block, as a decision, a result or more text makes one. */
export const laterVersion = (block: RunBlock): RunBlock => {
  switch (block.kind) {
    case "tool":
      return { ...block, status: "completed", endedAt: at }
    case "approval":
      return { ...block, state: "approved" }
    default:
      return { ...block }
  }
}
