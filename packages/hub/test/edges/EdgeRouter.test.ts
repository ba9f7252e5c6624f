import { assert, describe, it } from "@effect/vitest"
import type { CommandOutcome } from "@corral/domain/link/EdgeCommand"
import type { ErrorCode } from "@corral/domain/errors/ErrorTable"
import type {
  ApprovalId,
  ArtifactId,
  DeviceId,
  PreviewId,
  RunId,
  WorkspaceId
} from "@corral/domain/identity/Ids"
import { Cause, Effect, Exit, Layer } from "effect"
import type { CommandResult } from "../../src/edges/CommandRequest.ts"
import { Commands } from "../../src/edges/Commands.ts"
import { EdgeRouter } from "../../src/edges/EdgeRouter.ts"
import { Targets } from "../../src/edges/Targets.ts"
import { createRun, newId } from "@corral/testing/hub/Mirror"
import { openedPreviewOf } from "../harness/OpenedPreview.ts"

const targetId = newId<DeviceId>("dev")
const runId = newId<RunId>("run")
const approvalId = newId<ApprovalId>("apr")
const artifactId = newId<ArtifactId>("art")
const previewId = newId<PreviewId>("prv")
const workspace = "demo" as WorkspaceId
type Router = EdgeRouter["Service"]

/** Each way, and the codes of an Edge that mean something on it. */
const ways = {
  start: [
    (router: Router) => router.start(targetId, { runId, create: createRun }),
    {
      invalid_agent_id: "invalid_agent_id",
      overloaded: "overloaded",
      conflict: "conflict",
      nonsense: "internal"
    }
  ],
  cancel: [
    (router: Router) => router.cancel(targetId, { runId, by: "x" }),
    { run_not_cancellable: "run_not_cancellable", not_found: "run_not_cancellable", overloaded: "overloaded" }
  ],
  pause: [
    (router: Router) => router.changePause(targetId, "PauseRun", { runId, by: "x" }),
    { conflict: "conflict", not_found: "conflict", overloaded: "overloaded" }
  ],
  resume: [
    (router: Router) => router.changePause(targetId, "ResumeRun", { runId, by: "x" }),
    { conflict: "conflict", not_found: "conflict", overloaded: "overloaded" }
  ],
  input: [
    (router: Router) => router.sendInput(targetId, { runId, by: "x", input: { text: "x" } }),
    { conflict: "conflict", not_found: "permission_denied", overloaded: "overloaded" }
  ],
  decide: [
    (router: Router) => router.decide(targetId, { runId, approvalId, decision: "allow", by: "x" }),
    {
      approval_already_resolved: "approval_already_resolved",
      approval_expired: "approval_expired",
      schema_validation_failed: "schema_validation_failed",
      not_found: "permission_denied",
      overloaded: "overloaded"
    }
  ],
  diff: [(router: Router) => router.readDiff(targetId, { runId }), { not_found: "permission_denied" }],
  artifacts: [
    (router: Router) => router.listArtifacts(targetId, { runId }),
    { not_found: "permission_denied" }
  ],
  readArtifact: [
    (router: Router) => router.readArtifact(targetId, { runId, artifactId, offset: 0 }),
    { not_found: "permission_denied" }
  ],
  openPreview: [
    (router: Router) => router.openPreview(targetId, { runId, previewId }),
    { not_found: "not_found", overloaded: "overloaded" }
  ],
  listFiles: [
    (router: Router) => router.listFiles(targetId, { workspace, path: "" }),
    { workspace_outside_allowlist: "workspace_outside_allowlist", not_found: "not_found" }
  ],
  readFile: [
    (router: Router) => router.readFile(targetId, { workspace, path: "a" }),
    { payload_too_large: "payload_too_large", permission_denied: "permission_denied" }
  ]
} as const satisfies Record<
  string,
  readonly [
    (router: Router) => Effect.Effect<unknown, { readonly _tag: string }>,
    { readonly [code: string]: ErrorCode }
  ]
>

/** What comes of a command that ends so. */
const requested = (
  way: keyof typeof ways,
  request: CommandResult,
  commands: ReadonlyArray<string> = ["OpenPreview", "PauseRun", "ResumeRun"]
) =>
  Effect.flatMap(EdgeRouter, (router): Effect.Effect<unknown, { readonly _tag: string }> =>
    ways[way][0](router)
  ).pipe(
    Effect.provide(
      EdgeRouter.layer.pipe(
        Layer.provide(
          Layer.succeed(Commands, {
            send: () => Effect.succeed(request),
            openStream: () => Effect.void,
            claim: () => Effect.succeed({ commands: [], hasMore: false }),
            hasOpen: () => Effect.succeed(false),
            resend: () => Effect.void,
            answer: () => Effect.succeed(true),
            refuseAll: () => Effect.void
          })
        ),
        Layer.provide(
          Layer.succeed(Targets, {
            find: (id) => Effect.succeed({ id, lastSeenAt: undefined }),
            currentOffer: () => Effect.succeed({ workspaces: [], agents: [], commands }),
            lastOffer: () => Effect.succeed({ workspaces: [], agents: [], commands, isPresent: true }),
            canRoute: () => Effect.succeed(true),
            findAccess: () => Effect.succeed({ canRoute: true, canUseWorkspace: true })
          })
        )
      )
    ),
    Effect.exit
  )

const answered = (outcome: CommandOutcome): CommandResult => ({ _tag: "Answered", outcome })
const details = { approvalId, state: "denied" }
const refused = (code: string): CommandResult =>
  answered({ _tag: "Refused", error: { code, message: "Because.", details } })

const openedPreview = openedPreviewOf(previewId, runId, workspace)

const failureOf = (exit: Exit.Exit<unknown, unknown>): Record<string, unknown> | undefined => {
  const failure = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
  // What fails here is an object with a code.
  return failure as Record<string, unknown> | undefined
}

describe("EdgeRouter", () => {
  it.effect("passes on why the changes of a run are unknown", () =>
    Effect.gen(function* () {
      const unknown = { code: "changes_unknown", message: "Unknown.", details: { reason: "no_git" } }
      const exit = yield* requested("diff", answered({ _tag: "Refused", error: unknown }))
      assert.deepInclude(failureOf(exit), unknown)
    })
  )

  const names = Object.keys(ways) as ReadonlyArray<keyof typeof ways>

  it.effect.each(names)("%s: the Edge's codes are the ones that mean that here, and no other", (way) =>
    Effect.gen(function* () {
      for (const [code, means] of Object.entries(ways[way][1]))
        assert.strictEqual(failureOf(yield* requested(way, refused(code)))?.["code"], means, code)
      if (way === "start") return
      const other = yield* requested(way, refused("invalid_agent_id"))
      assert.isTrue(Exit.hasDies(other))
    })
  )

  it.effect.each(names)("%s: dies if the answer belongs to another request", (way) =>
    Effect.gen(function* () {
      for (const value of [null, {}, [{}], { id: newId("run"), runId: newId("run") }])
        assert.isTrue(Exit.hasDies(yield* requested(way, answered({ _tag: "Done", value }))))
    })
  )

  it.effect.each(names)(
    "%s: says offline where nothing was done, and unknown where it may have been",
    (way) =>
      Effect.gen(function* () {
        const writes = ["start", "cancel", "pause", "resume", "input", "decide"].includes(way)
        for (const _tag of ["NotSent", "Waits", "Unknown"] as const) {
          const failure = failureOf(yield* requested(way, { _tag }))
          assert.strictEqual(failure?.["code"], "target_offline")
          const outcome = _tag === "Unknown" && writes ? { outcome: "unknown" } : {}
          assert.deepStrictEqual(failure?.["details"], { targetId, ...outcome })
        }
      })
  )

  it.effect("accepts only preview addresses on the device itself", () =>
    Effect.gen(function* () {
      const opened = (more: object) =>
        requested("openPreview", answered({ _tag: "Done", value: { ...openedPreview, ...more } }))
      assert.deepStrictEqual(yield* opened({}), Exit.succeed(openedPreview))
      const ticket = "T".repeat(43)
      const others: ReadonlyArray<object> = [
        { id: newId("prv") },
        { runId: newId("run") },
        { runId: undefined },
        ...[
          `https://127.0.0.1:4000/?ticket=${ticket}`,
          `http://127.0.0.1.evil.example:4000/?ticket=${ticket}`,
          `http://localhost:4000/?ticket=${ticket}`,
          `http://127.0.0.1@evil.example:4000/?ticket=${ticket}`,
          `http://127.0.0.1:4000/admin?ticket=${ticket}`,
          `http://127.0.0.1:4000/?ticket=${ticket}&more=1`,
          `http://127.0.0.1:4000/?ticket=${ticket}\n`,
          `http://127.0.0.1:4000/?ticket=short`,
          `http://127.0.0.1/?ticket=${ticket}`,
          "javascript:alert(1)"
        ].map((url) => ({ url }))
      ]
      for (const more of others) assert.isTrue(Exit.hasDies(yield* opened(more)), JSON.stringify(more))
    })
  )

  it.effect("sends no command that the Edge does not support", () =>
    Effect.gen(function* () {
      const done = answered({ _tag: "Done", value: openedPreview })
      for (const way of ["openPreview", "pause", "resume"] as const) {
        const failure = failureOf(yield* requested(way, done, []))
        assert.deepInclude(failure, { code: "conflict" })
        assert.match(String(failure?.["message"]), /^The Edge of this device is too old/)
      }
    })
  )

  it.effect("passes on the refusal of a revoked device", () =>
    Effect.gen(function* () {
      const afterwards = answered({
        _tag: "Refused",
        error: { code: "target_offline", message: "x", details: { outcome: "unknown" } }
      })
      const failure = failureOf(yield* requested("cancel", afterwards))
      assert.deepStrictEqual(failure?.["details"], { targetId, outcome: "unknown" })
    })
  )
})
