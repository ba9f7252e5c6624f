/**
 * Tests of an application with a real Edge, whose store is in memory and whose policy decides approvals. No server, no database file.
 * Start them from the root of the repository: `node --test examples/edge-in-tests/Greeter.spec.ts`.
 */
import { EdgeApprovalPolicy } from "@corral/edge/approval/EdgeApprovalPolicy"
import { EdgeConfig, makeEdgeConfig } from "@corral/edge/config/EdgeConfig"
import * as Edge from "@corral/edge/Edge"
import { EventSink } from "@corral/edge/log/EventSink"
import { EdgeStorage } from "@corral/edge/store/EdgeStorage"
import { Store } from "@corral/edge/store/Store"
import { Effect, Layer } from "effect"
import assert from "node:assert/strict"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "node:test"
import { writeGreeting } from "./Greeter.ts"

const folder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "greeter-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

/** Runs `writeGreeting` on an Edge with this policy. Returns the workspace's file, the run, and the types of all events. */
const greetWith = (policy: EdgeApprovalPolicy) =>
  Effect.gen(function* () {
    const home = yield* folder
    const workspace = join(home, "workspace")
    mkdirSync(workspace)
    const types: Array<string> = []
    const receive: EventSink["receive"] = ({ lines }) =>
      Effect.sync(() => void types.push(...lines.map((line) => JSON.parse(line).type)))
    const config = makeEdgeConfig({ home, workspaces: [{ id: "greetings", path: workspace }] })
    const edge = Layer.fresh(Edge.edgeCoreLayer).pipe(
      Layer.provide([
        Layer.succeed(EdgeConfig, config),
        Layer.succeed(EdgeStorage, Store.layerMemory),
        Layer.succeed(EdgeApprovalPolicy, policy),
        Layer.succeed(EventSink, { receive })
      ])
    )
    const run = yield* writeGreeting("greetings", "Ada").pipe(Effect.provide(edge))
    const file = join(workspace, "greeting.txt")
    return { run, types, greeting: existsSync(file) ? readFileSync(file, "utf8") : undefined }
  }).pipe(Effect.scoped, Effect.runPromise)

describe("writeGreeting", () => {
  it("writes the greeting when the write is allowed", async () => {
    const { greeting, run, types } = await greetWith(({ request }) =>
      request.action === "write" ? "allow" : "default"
    )
    assert.equal(greeting?.trim(), "Hello Ada")
    assert.equal(run.state, "completed")
    assert.equal(types[0], "run.created")
    assert.equal(types.at(-1), "run.completed")
  })

  it("writes nothing when the write is denied", async () => {
    const { greeting, types } = await greetWith(() => ({ deny: "Not in tests." }))
    assert.equal(greeting, undefined)
    assert.ok(types.includes("run.approval.resolved"))
  })
})
