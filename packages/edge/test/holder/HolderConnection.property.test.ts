import { effort } from "@corral/testing/time/Effort"
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { connect } from "node:net"
import { FrameReader, frameOf, frameTypes, jsonFrame } from "../../src/holder/HolderFrames.ts"
import { holderKeyFile, holderPlaceOf, holderProblemFile } from "../../src/holder/HolderPlace.ts"
import { startShell } from "./HeldCase.ts"
import { connectEdge, openHome } from "./HolderHome.ts"

const types = Object.values(frameTypes)

const anyPayload = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc
    .record(
      {
        run: fc.oneof(fc.string(), fc.constant("run_hostile"), fc.constant("../../x")),
        from: fc.oneof(fc.double(), fc.integer(), fc.string()),
        format: fc.oneof(fc.constant(1), fc.integer()),
        file: fc.oneof(fc.string(), fc.constant("/bin/true")),
        args: fc.oneof(fc.array(fc.string()), fc.integer(), fc.constant(["\0"])),
        cwd: fc.oneof(fc.string(), fc.constant("/")),
        env: fc.oneof(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer())), fc.constant(null)),
        stdin: fc.oneof(fc.constantFrom("ignore", "once", "pipe"), fc.string()),
        mark: fc.constant("CORRAL_RUN_ID=run_hostile"),
        maxBytes: fc.oneof(fc.nat(), fc.double()),
        until: fc.oneof(fc.constant({}), fc.record({ wall: fc.double() }), fc.string()),
        hasControl: fc.boolean(),
        isConfined: fc.boolean()
      },
      { requiredKeys: [] }
    )
    .map((fields) => Buffer.from(JSON.stringify(fields)))
)

const anyFrame = fc
  .tuple(fc.oneof(fc.constantFrom(...types), fc.integer({ min: 0, max: 255 })), anyPayload)
  .map(([type, payload]) => frameOf(type, payload))

const cutInto = (bytes: Buffer, sizes: ReadonlyArray<number>): ReadonlyArray<Buffer> => {
  const parts: Array<Buffer> = []
  let at = 0
  for (let turn = 0; at < bytes.length; turn++) {
    const end = at + (sizes[turn % sizes.length] ?? 1)
    parts.push(bytes.subarray(at, end))
    at = end
  }
  return parts
}

const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 10 })

describe("FrameReader", () => {
  it("gives the frames that were written, for any cut into chunks", () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom(...types), fc.uint8Array({ maxLength: 2_000 })), { maxLength: 20 }),
        sizes,
        fc.option(fc.constantFrom(...types)),
        (frames, cuts, streamed) => {
          const found: Array<readonly [number, Buffer]> = []
          let pieces = Buffer.alloc(0)
          const reader = new FrameReader(
            {
              onFrame: (type, payload) => void found.push([type, Buffer.from(payload)]),
              onPiece: (piece) => (pieces = Buffer.concat([pieces, piece])),
              onInvalid: (reason) => assert.fail(reason)
            },
            { streamed: streamed ?? undefined }
          )
          const written = Buffer.concat(frames.map(([type, payload]) => frameOf(type, payload)))
          // Reused, as the Edge's buffer is.
          const shared = Buffer.alloc(400)
          for (const part of cutInto(written, cuts)) {
            shared.fill(0)
            part.copy(shared)
            reader.push(shared.subarray(0, part.length))
          }
          const whole = frames.filter(([type]) => type !== streamed)
          assert.deepStrictEqual(
            found,
            whole.map(([type, payload]) => [type, Buffer.from(payload)])
          )
          const expected = frames.filter(([type]) => type === streamed).map(([, payload]) => payload)
          assert.isTrue(pieces.equals(Buffer.concat(expected)))
        }
      ),
      { numRuns: 200 * effort }
    ))

  it("refuses a payload that is too long before it arrives", () => {
    const refusals: Array<string> = []
    const reader = new FrameReader({
      onFrame: () => assert.fail("a frame"),
      onInvalid: (reason) => void refusals.push(reason)
    })
    reader.push(Buffer.from([frameTypes.write, 1, 0, 0, 1]))
    reader.push(Buffer.from([frameTypes.write, 0, 0, 0, 0]))
    assert.deepStrictEqual(refusals, ["a payload of 16777217 bytes"])
  })
})

describe("connections of the holder", () => {
  it("accept nothing without the key", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "read line; echo $line")
    const { socket } = holderPlaceOf(home)
    for (const first of [
      jsonFrame(frameTypes.hello, { format: 1, orphanMs: 0, build: "" }),
      jsonFrame(frameTypes.open, { run: run.id, key: "x".repeat(64) }),
      frameOf(frameTypes.endHolder),
      frameOf(frameTypes.hello, Buffer.alloc(5_000, "x"))
    ]) {
      const hostile = connect(socket)
      hostile.write(first)
      const [answer] = await once(hostile, "data")
      assert.strictEqual(answer[0], frameTypes.refused)
      await once(hostile, "close")
    }
    run.child.write("still\n")
    await run.record.ended.promise
    assert.strictEqual(run.record.output.toString(), "still\n")
  })

  it("survive any bytes, with and without the key, and do not disturb other runs", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "while read line; do echo $line; done")
    const { folder, socket } = holderPlaceOf(home)
    const key = readFileSync(holderKeyFile(folder), "utf8")
    const open = jsonFrame(frameTypes.open, { run: "run_hostile", key })
    const anyBytes = fc.oneof(
      fc.uint8Array({ maxLength: 2_000 }).map((bytes) => Buffer.from(bytes)),
      fc.array(anyFrame, { maxLength: 10 }).map((frames) => Buffer.concat(frames)),
      fc.array(anyFrame, { maxLength: 10 }).map((frames) => Buffer.concat([open, ...frames]))
    )
    await fc.assert(
      fc.asyncProperty(anyBytes, sizes, async (bytes, cuts) => {
        const hostile = connect(socket)
        hostile.on("error", () => undefined)
        hostile.resume()
        for (const part of cutInto(bytes, cuts)) hostile.write(part)
        hostile.end()
        await new Promise((resolve) => hostile.once("close", resolve))
      }),
      { numRuns: 200 * effort }
    )
    const before = run.record.bytes
    run.child.write("still\n")
    await run.record.received(before + 6)
    assert.strictEqual(run.record.output.toString(), "still\n")
    assert.throws(() => readFileSync(holderProblemFile(folder)), "ENOENT")
  })
})
