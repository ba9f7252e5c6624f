/** 300 SIGKILLs and 30 upgrades of an Edge under 100 live runs. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { holderOf } from "@corral/testing/edge/Survivors"
import { VERSION } from "@corral/service/Version"
import { until } from "@corral/testing/time/Until"
import { assert, it, onTestFinished } from "@effect/vitest"
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { Seeded } from "../harness/Seeded.ts"
import { surviveKills } from "./Surviving.ts"

/** This build with another version, next to it: it finds the same packages. */
const otherBuild = (entry: string): string => {
  const copy = `${dirname(entry)}-${process.pid}`
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }))
  cpSync(dirname(entry), copy, { recursive: true })
  const program = join(copy, "main.cjs")
  const text = readFileSync(program, "utf8").replaceAll(`"${VERSION}"`, `"${VERSION}-other"`)
  assert.include(text, `"${VERSION}-other"`)
  writeFileSync(program, text)
  return join(copy, "index.js")
}

const [kills, runs] = [
  Number(process.env["CORRAL_TEST_KILLS"] ?? 330),
  Number(process.env["CORRAL_TEST_LIVE"] ?? 100)
]

it("loses no run, 300 times", { timeout: 3_600_000 }, async () => {
  const edge = new EdgeProcess({
    env: {
      CORRAL_EDGE_ORPHAN_MS: "120000",
      CORRAL_EDGE_CANCEL_GRACE_MS: "500",
      CORRAL_EDGE_REQUESTS_PER_SECOND: "1000000"
    }
  })
  onTestFinished(() => edge.remove())
  await edge.start()
  const ended = await surviveKills({
    edge,
    seeded: new Seeded("300 kills and 30 upgrades"),
    runs,
    kills,
    entries: [edge.entry, otherBuild(edge.entry)],
    killsPerUpgrade: 11
  })
  console.log(`${ended} runs ended, with ${kills} ends of their Edge`)
  assert.isAtLeast(ended, runs)
  assert.strictEqual((await edge.stop()).code, 0)
  await until(async () => (holderOf(edge.home) === undefined ? true : undefined), "the end of the holder")
})
