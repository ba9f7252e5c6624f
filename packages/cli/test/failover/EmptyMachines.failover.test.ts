/**
 * What `docs/cluster.md` says, done literally on four empty machines: three PostgreSQL servers, three Hubs, a balancer, TLS. Then the primary's machine is turned off.
 *
 * The test does what the page leaves to its reader: it copies Node, the build and the file of passwords, as `scp` would.
 */
import { assert, describe, it, onTestFinished } from "@effect/vitest"
import { EmptyMachines, emptyMachinesProblem } from "@corral/testing/cluster/EmptyMachines"
import { until } from "@corral/testing/time/Until"
import { execFileSync } from "node:child_process"
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../../..", import.meta.url))
const HUBS = ["m1", "m2", "m3"]
const BALANCER = "lb"
const problem = emptyMachinesProblem()

const placesOf = (place: string): ReadonlyArray<string> =>
  place === "all" ? [...HUBS, BALANCER] : place === "machines" ? HUBS : [place]

/** Blocks of the page for one of the machines, in order. */
const blocks = [
  ...readFileSync(join(root, "docs/cluster.md"), "utf8").matchAll(/^```sh (\w+)\n([^]*?)^```$/gm)
].map(([, place = "", script = ""]) => ({ places: placesOf(place), script }))

/** A build that is complete in itself. */
const completeBuild = (): string => {
  const folder = join(mkdtempSync(join(tmpdir(), "corral-build-")), "dist")
  onTestFinished(() => rmSync(dirname(folder), { recursive: true, force: true }))
  cpSync(join(root, "dist"), folder, { recursive: true })
  execFileSync("npm", ["install", "--omit=dev", "--no-audit", "--no-fund"], { cwd: folder, stdio: "pipe" })
  return folder
}

/** What a block needs before it runs, and the page has its reader do. */
const prepare = (machines: EmptyMachines, script: string, build: string): void => {
  if (script.includes("ETCD_NAME"))
    for (const name of HUBS.slice(1)) machines.copyBetween("m1", name, "etc/corral/cluster.env")
  if (script.includes("leave-full-disk"))
    for (const name of HUBS)
      machines.copy(
        join(root, "deploy/high-availability/leave-full-disk.sh"),
        name,
        "usr/local/bin/leave-full-disk.sh"
      )
  if (script.includes("hub.env") && script.includes("CORRAL_HUB_HOST"))
    for (const name of HUBS) {
      machines.copy(process.execPath, name, "usr/bin/node")
      machines.copy(build, name, "opt/corral")
      machines.copy(
        join(root, "deploy/systemd/corral-hub.service"),
        name,
        "etc/systemd/system/corral-hub.service"
      )
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
    for (const { places, script } of blocks) {
      prepare(machines, script, build)
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
