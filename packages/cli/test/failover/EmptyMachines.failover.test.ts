/**
 * What `docs/cluster.md` says, done literally on four empty machines: three PostgreSQL servers, three Hubs, a balancer, TLS. Then the primary's machine is turned off.
 *
 * The test does what the page leaves to its reader: it installs Node, makes the build, and copies what the page copies with `scp`.
 */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { EmptyMachines, emptyMachinesProblem } from "./Machines.ts"
import { until } from "@corral/testing/time/Until"
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const HUBS = ["m1", "m2", "m3"]
const BALANCER = "lb"
const problem = emptyMachinesProblem()

const placesOf = (place: string): ReadonlyArray<string> =>
  place === "all" ? [...HUBS, BALANCER] : place === "machines" ? HUBS : [place]

/** Blocks of the page, in order: a script for some of the machines, or what the reader does on another one. */
const blocks = [
  ...readFileSync(join(root, "docs/cluster.md"), "utf8").matchAll(/^```(?:sh (\w+)|console)\n([^]*?)^```$/gm)
].map(([, place, script = ""]) => ({ places: place === undefined ? [] : placesOf(place), script }))

/** A build that is complete in itself. */
const completeBuild = (): string => {
  const folder = join(mkdtempSync(join(tmpdir(), "corral-build-")), "dist")
  onTestFinished(() => rmSync(dirname(folder), { recursive: true, force: true }))
  cpSync(join(root, "dist"), folder, { recursive: true })
  execFileSync("npm", ["install", "--omit=dev", "--no-audit", "--no-fund"], { cwd: folder, stdio: "pipe" })
  return folder
}

/** Copies what the `scp` of a block would. What is at an absolute path is on m1. */
const copyAll = (machines: EmptyMachines, script: string, build: string): void => {
  for (const [, source = "", host = "", target = ""] of script.matchAll(
    /^ *scp (?:-r )?(\S+) root@(\$machine|m\d):(\S+)$/gm
  ))
    for (const name of host === "$machine" ? HUBS : [host])
      if (source.startsWith("/")) machines.copyBetween("m1", name, source)
      else {
        const to = target.endsWith("/") ? join(target, basename(source)) : target
        machines.copy(source === "dist" ? build : join(root, source), name, to)
      }
}

const HEALTH = "curl --silent --max-time 3 --fail --cacert certificate.pem https://corral.example.com/health"
const BOOT = "systemctl start --no-block etcd patroni leave-full-disk haproxy corral-hub"
/** Until users are served again after the loss of a machine. */
const LIMIT_MS = 30_000

describe.skipIf(problem !== undefined)("The cluster of docs/cluster.md", () => {
  it("comes up from empty machines, and survives the loss of its primary", async () => {
    const build = completeBuild()
    const machines = new EmptyMachines([...HUBS, BALANCER], "192.0.2")
    onTestFinished(() => machines.close())
    let shown = ""
    for (const name of HUBS) machines.copy(process.execPath, name, "usr/bin/node")
    for (const { places, script } of blocks) {
      if (places.length === 0) copyAll(machines, script, build)
      for (const name of places) shown = machines.run(name, script, { isOnline: script.includes("apt-get") })
    }
    assert.match(shown, /3 Hubs connected/, "corral hub doctor")
    const primary = /(m\d) +\| [\d.]+ +\| Leader/.exec(shown)?.[1] ?? ""
    assert.include(HUBS, primary)

    const isHealthy = () => machines.run(BALANCER, `${HEALTH} || true`).includes("ok")
    machines.turnOff(primary)
    await until(async () => (isHealthy() ? undefined : true), "the Hubs to notice", LIMIT_MS)
    await until(async () => (isHealthy() ? true : undefined), "the Hubs to serve again", LIMIT_MS)

    machines.run(primary, BOOT)
    const isWhole = () =>
      machines.run(primary, "patronictl -c /etc/patroni/config.yml list").match(/running|streaming/g)
        ?.length === 3
    await until(async () => (isWhole() ? true : undefined), "the former primary as a standby", 120_000)
    assert.isTrue(isHealthy())
  })
})
