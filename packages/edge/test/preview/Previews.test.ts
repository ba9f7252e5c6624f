/** How long previews live, and what they never reach: with a clock of the test's own. */
import type { WorkspaceId } from "@corral/domain/identity/Ids"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { placeOfPort, portSource } from "../../src/preview/PortSource.ts"
import { LIFETIME_MS, Previews } from "../../src/preview/Previews.ts"
import { Workspaces } from "../../src/workspace/Workspaces.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer } from "../Samples.ts"
import { openUpstream } from "./Upstream.ts"
import { visit, Visitor } from "./Visitor.ts"

const workspace = "api" as WorkspaceId
const layers = Layer.unwrap(
  Effect.map(temporaryFolder, (folder) => {
    const path = join(folder, "api")
    mkdirSync(path)
    writeFileSync(join(path, "index.html"), "home")
    const config = configLayer(folder, { workspaces: [{ id: "api", path }] })
    return Previews.layer.pipe(Layer.provide(Workspaces.layer), Layer.provide(config))
  })
)

const create = Effect.flatMap(Previews, (previews) =>
  previews.create({ workspace, title: "Home", source: { kind: "folder", path: "" } }, 1)
)
const urlOf = Effect.fnUntraced(function* (id: Effect.Success<typeof create>["id"]) {
  return (yield* (yield* Previews).open(id)).url
})
const codeOf = (request: Promise<unknown>) =>
  Effect.promise(() => request.then(String, ({ code }: NodeJS.ErrnoException) => code))

describe("Previews", () => {
  it.effect("are open for an hour, and their tickets good for a minute", () =>
    Effect.gen(function* () {
      const previews = yield* Previews
      const { id, createdAt, expiresAt } = yield* create
      assert.strictEqual(Date.parse(expiresAt) - Date.parse(createdAt), LIFETIME_MS)
      const url = yield* urlOf(id)
      const late = yield* urlOf(id)
      const visitor = yield* Effect.promise(() => Visitor.enter(url))
      yield* TestClock.adjust("1 minute")
      const { pathname, search } = new URL(late)
      assert.strictEqual((yield* Effect.promise(() => visit(visitor.origin, pathname + search))).status, 401)
      yield* TestClock.adjust("58 minutes")
      assert.strictEqual((yield* Effect.promise(() => visitor.visit("/"))).text, "home")
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Effect.flip(previews.open(id)))._tag, "NotFound")
      assert.strictEqual(yield* codeOf(visitor.visit("/")), "ECONNREFUSED")
    }).pipe(Effect.provide(layers))
  )

  it.effect("close with the scope that opened them", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const services = yield* Layer.buildWithScope(layers, scope)
      const url = yield* create.pipe(
        Effect.flatMap(({ id }) => urlOf(id)),
        Effect.provideContext(services)
      )
      const visitor = yield* Effect.promise(() => Visitor.enter(url))
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual(yield* codeOf(visitor.visit("/")), "ECONNREFUSED")
    })
  )
})

describe("placeOfPort", () => {
  it.live("never reaches a port that has become the Edge's own", () =>
    Effect.gen(function* () {
      const { port } = yield* Effect.promise(() => openUpstream((_, response) => response.end()))
      let ours = false
      const place = yield* placeOfPort(port, undefined, (requestedPort) => ours && requestedPort === port)
      const source = portSource(port, place)
      assert.isTrue(yield* source.reachable)
      ours = true
      assert.isFalse(yield* source.reachable)
    })
  )
})
