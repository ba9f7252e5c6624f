import type { AttachmentId, SessionId } from "@corral/domain/identity/Ids"
import type { Attachment } from "@corral/domain/session/Attachment"
import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Fiber, Layer } from "effect"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, utimesSync } from "node:fs"
import { join } from "node:path"
import { Attachments } from "../../src/attachment/Attachments.ts"
import { insertRun } from "../../src/log/Runs.ts"
import { Store } from "../../src/store/Store.ts"
import { temporaryFolder } from "../Folder.ts"
import { configLayer, runIdOf, runOf } from "../Samples.ts"

const session = "ses_01K00000000000000000000001" as SessionId
const content = Buffer.from("some notes")
const notes: Attachment = {
  id: "att_01K00000000000000000000001" as AttachmentId,
  name: "notes.txt",
  mediaType: "text/plain",
  bytes: content.length,
  sha256: createHash("sha256").update(content).digest("hex")
}
const read = (_: AttachmentId, offset: number) => Effect.succeed(content.subarray(offset))
const files = { message: [notes], earlier: [] }

const open = (home: string) =>
  Effect.map(
    Layer.build(
      Layer.fresh(
        Layer.provide(Attachments.layer, configLayer(home)).pipe(Layer.provideMerge(Store.layerMemory))
      )
    ),
    (context) => ({ attachments: Context.get(context, Attachments), store: Context.get(context, Store) })
  )

describe("Attachments", () => {
  it.live("are deleted with the last log of their session, and not while a start needs them", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const { attachments, store } = yield* open(home)
      const [first, last] = [runIdOf(1), runIdOf(2)]
      yield* store.commit([first, last].map((id) => insertRun(runOf(id, { sessionId: session }))))
      const path = yield* attachments.whilePlaced(session, first, files, read, ({ message }) =>
        Effect.succeed(message[0]?.path ?? "")
      )
      yield* attachments.forgetRun(first)
      assert.isTrue(existsSync(path), "another run has its log")
      yield* store.commit([["UPDATE runs SET log = 'gone' WHERE id = ?", first]])
      const isHeld = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const held = yield* Effect.forkChild(
        attachments.whilePlaced(session, last, files, read, () =>
          Effect.andThen(Deferred.succeed(isHeld, undefined), Deferred.await(release))
        )
      )
      yield* Deferred.await(isHeld)
      yield* attachments.forgetRun(last)
      assert.isTrue(existsSync(path), "a start needs it")
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(held)
      yield* attachments.forgetRun(last)
      assert.isFalse(existsSync(join(home, "attachments", session)))
    })
  )

  it.live("of a start that failed are deleted when the Edge starts a day later", () =>
    Effect.gen(function* () {
      const home = yield* temporaryFolder
      const [old, recent] = ["ses_old", "ses_recent"].map((name) => join(home, "attachments", name))
      if (old === undefined || recent === undefined) return
      mkdirSync(old, { recursive: true })
      mkdirSync(recent)
      const then = new Date(Date.now() - 25 * 3_600_000)
      utimesSync(old, then, then)
      yield* open(home)
      assert.deepStrictEqual([existsSync(old), existsSync(recent)], [false, true])
    })
  )
})
