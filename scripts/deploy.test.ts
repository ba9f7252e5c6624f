/** The files under `deploy/`, as far as they can be judged without containers: what they name exists. */
import { assert, describe, it } from "@effect/vitest"
import { edgeSettings } from "@corral/edge/EdgeSettings"
import { gatewaySettings } from "@corral/gateway/GatewaySettings"
import { hubSettings } from "@corral/hub/HubSettings"
import { variablesOf } from "@corral/service/settings/Setting"
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const read = (name: string): string => readFileSync(join(root, "deploy", name), "utf8")
const units = readdirSync(join(root, "deploy/systemd"))
const services = ["hub", "gateway", "edge"]
const knownDirectives: ReadonlySet<string> = new Set(
  variablesOf({ edgeSettings, hubSettings, gatewaySettings }).map(({ name }) => name)
)

describe("deploy", () => {
  it("names only variables that are settings", () => {
    for (const name of ["Dockerfile", "compose.yaml", ...units.map((unit) => `systemd/${unit}`)]) {
      const named = [...read(name).matchAll(/\bCORRAL_[A-Z0-9_]+/g)].map(([variable]) => variable)
      assert.isNotEmpty(name.startsWith("systemd/corral-edge") ? ["none needed"] : named, name)
      assert.deepStrictEqual(
        named.filter((variable) => !knownDirectives.has(variable)),
        [],
        name
      )
    }
  })

  it("starts services that the build makes", () => {
    const build = readFileSync(join(root, "scripts/build.ts"), "utf8")
    for (const service of services) {
      assert.match(build, new RegExp(`^  ${service}: \\{ main:`, "m"))
      const unit = read(`systemd/corral-${service}.service`)
      assert.include(unit, `\nExecStart=/usr/bin/node /opt/corral/${service}\n`)
      assert.include(unit, "\nNoNewPrivileges=yes\n")
    }
    const [, ...commands] = [...read("compose.yaml").matchAll(/command: \["(\w+)"\]/g)].map(
      ([, name]) => name
    )
    for (const command of commands) assert.include(services, command)
  })

  it("runs the image as an unprivileged user, and has a health check", () => {
    const image = read("Dockerfile")
    const [, last = ""] = image.split(/^FROM .*$(?![^]*^FROM )/m)
    assert.match(last, /^USER corral$/m)
    assert.match(last, /^HEALTHCHECK /m)
    assert.match(last, /^ENTRYPOINT \["node"\]$/m)
    for (const needed of ["bubblewrap", "git", "socat"])
      assert.match(last, new RegExp(`install .* ${needed} `), "what an Edge needs")
    // A script of one line for the program of every health check.
    for (const [, script = ""] of (image + read("compose.yaml")).matchAll(/"(fetch\(.*)"/g)) {
      const { status } = spawnSync(process.execPath, ["--check", "-"], {
        input: script.replaceAll("$$", "$")
      })
      assert.strictEqual(status, 0, script)
    }
  })

  const analyze = spawnSync("systemd-analyze", ["--version"]).status === 0
  it.skipIf(!analyze)("has valid systemd units with restricted access to the system", () => {
    const folder = mkdtempSync(join(tmpdir(), "corral-units-"))
    try {
      const env = { PATH: process.env["PATH"], XDG_RUNTIME_DIR: folder, HOME: folder }
      for (const unit of units) {
        const file = join(root, "deploy/systemd", unit)
        const how = unit === "corral-edge.service" ? ["--user"] : []
        const { stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...how, file], {
          env,
          encoding: "utf8"
        })
        // The Node of the machine may be elsewhere; all else must be right.
        const wrong = stderr
          .split("\n")
          .filter((line) => line.includes(unit) && !line.includes("/usr/bin/node"))
        assert.deepStrictEqual(wrong, [])
        if (how.length > 0) continue
        const result = spawnSync("systemd-analyze", ["security", "--offline=true", file], {
          env,
          encoding: "utf8"
        })
        const level = /exposure level for \S+ (\d+\.\d)/.exec(result.stdout)?.[1]
        if (level !== undefined) assert.isBelow(Number(level), 2.5)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it("lists its dependencies without those that only build it", () => {
    execFileSync(process.execPath, [join(root, "scripts/sbom.ts")], { stdio: "ignore" })
    const file = join(root, "dist/sbom.cdx.json")
    assert.isTrue(existsSync(file))
    const { bomFormat, components } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly bomFormat: string
      readonly components: ReadonlyArray<{ readonly name: string }>
    }
    const names = components.map(({ name }) => name)
    assert.strictEqual(bomFormat, "CycloneDX")
    assert.includeMembers(names, ["better-sqlite3", "effect", "openid-client"])
    assert.notInclude(names, "vitest")
  })
})
