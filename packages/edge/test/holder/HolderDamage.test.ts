/** A damaged folder of held runs: the holder makes it again, and no damage stops an Edge. */
import { until } from "@corral/testing/time/Until"
import { assert, describe, it } from "@effect/vitest"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { holderKeyFile, holderPlaceOf } from "../../src/holder/HolderPlace.ts"
import { openFolder } from "../Folder.ts"
import { startShell } from "./HeldCase.ts"
import { connectEdge, holdersOf, openHome, untilGone } from "./HolderHome.ts"

interface Place {
  readonly folder: string
  readonly socket: string
}

const keyOf = ({ folder }: Place): string => holderKeyFile(folder)

/** What a living holder repairs. */
const repaired: Readonly<Record<string, (place: Place) => void>> = {
  "no key": (place) => rmSync(keyOf(place)),
  "an empty key": (place) => truncateSync(keyOf(place)),
  "another key": (place) => writeFileSync(keyOf(place), "0".repeat(64)),
  "a folder as key": (place) => {
    rmSync(keyOf(place))
    mkdirSync(keyOf(place))
  },
  "a link as key": (place) => {
    rmSync(keyOf(place))
    symlinkSync("/etc/passwd", keyOf(place))
  },
  "no socket": ({ socket }) => rmSync(socket),
  "no socket and no key": (place) => {
    rmSync(place.socket)
    rmSync(keyOf(place))
  },
  "no folder": ({ folder }) => rmSync(folder, { recursive: true }),
  "a moved folder": ({ folder }) => renameSync(folder, `${folder}.old`),
  "a folder without permissions": ({ folder }) => chmodSync(folder, 0)
}

const isWhole = (place: Place, key: string): boolean => {
  try {
    return existsSync(place.socket) && readFileSync(keyOf(place), "utf8") === key
  } catch {
    return false
  }
}

describe("a damaged folder of held runs", () => {
  it.each(Object.keys(repaired))("with %s is repaired, and the run continues", async (name) => {
    const home = openHome()
    const place = holderPlaceOf(home)
    const first = await connectEdge({ home })
    const run = await startShell(first, "echo out; read line; echo $line")
    await run.record.received(4)
    const key = readFileSync(keyOf(place), "utf8")
    await first.close()
    repaired[name]?.(place)
    await until(async () => (isWhole(place, key) ? true : undefined), "the repair")
    const second = await connectEdge({ home })
    assert.deepStrictEqual(
      second.holder.found.map(({ id }) => id),
      [run.id]
    )
    assert.strictEqual(holdersOf(home).length, 1)
  })

  it.each(Object.keys(repaired))("with %s does not stop an Edge that starts at once", async (name) => {
    const home = openHome()
    const first = await connectEdge({ home })
    await startShell(first, "read line")
    await first.close()
    repaired[name]?.(holderPlaceOf(home))
    const second = await connectEdge({ home })
    const run = await startShell(second, "echo out")
    await run.record.ended.promise
    await until(async () => (holdersOf(home).length === 1 ? true : undefined), "one holder")
  })

  const replaced: Readonly<Record<string, (folder: string) => void>> = {
    "a file": (folder) => writeFileSync(folder, "x"),
    "a link": (folder) => symlinkSync(openFolder(), folder),
    "a link to nothing": (folder) => symlinkSync("/nowhere/at/all", folder),
    "a folder with folders in it": (folder) => {
      mkdirSync(join(folder, "run_x.out"), { recursive: true })
      mkdirSync(holderKeyFile(folder))
    },
    "a folder without permissions": (folder) => mkdirSync(folder, { mode: 0 })
  }

  it.each(Object.keys(replaced))("that is %s does not stop an Edge", async (name) => {
    const home = openHome()
    const { folder } = holderPlaceOf(home)
    replaced[name]?.(folder)
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "echo out")
    await run.record.ended.promise
    assert.strictEqual(run.record.output.toString(), "out\n")
    const isMoved = readdirSync(home).some((each) => each.startsWith("held.damaged-"))
    assert.strictEqual(isMoved, !name.startsWith("a folder"))
  })

  it("reports a process whose holder was killed", async () => {
    const home = openHome()
    const edge = await connectEdge({ home })
    const run = await startShell(edge, "echo out; read line")
    await run.record.received(4)
    const [pid = 0] = holdersOf(home)
    process.kill(pid, "SIGKILL")
    await untilGone(pid)
    assert.deepInclude(await run.record.ended.promise, { signal: "SIGKILL", isHolderLost: true })
  })
})
