import type { RunMode } from "@corral/domain/run/Run"
import { assert, describe, it } from "@effect/vitest"
import {
  grantedPorts,
  hostEntryOf,
  judgeHost,
  reachableAddresses,
  rulesOfRun
} from "../../src/network/HostEntry.ts"
import { targetOfAuthority } from "../../src/network/NetworkTarget.ts"

const sources = {
  declared: { hosts: ["api.model.com", "*.models.dev"], addressVariables: ["MODEL_URL"] },
  hosts: ["registry.example.com:8443", "127.0.0.1:11434"],
  grants: [
    { action: "network", host: "granted.example.com" },
    { action: "network", host: "localhost:5432" },
    { action: "network", host: "of-a-tool.example.com", tool: "WebFetch" }
  ],
  environment: { MODEL_URL: "http://localhost:8080/v1", OTHER_URL: "http://127.0.0.1:9999" }
} as const

const verdict = (mode: RunMode, authority: string): string => {
  const target = targetOfAuthority(authority)
  if (target === undefined) return "malformed"
  const found = judgeHost(rulesOfRun({ ...sources, mode }), target)
  return found._tag === "Allow" ? found.reach : found._tag === "Ask" ? "ask" : found.reason
}

describe("judgeHost", () => {
  it.each([
    ["api.model.com:443", "public", "public"],
    ["a.b.models.dev:443", "public", "public"],
    ["models.dev:443", "ask", "mode"],
    ["notmodels.dev:443", "ask", "mode"],
    ["api.model.com:8443", "ask", "mode"],
    ["registry.example.com:8443", "local", "local"],
    ["registry.example.com:443", "ask", "mode"],
    ["127.0.0.1:11434", "local", "local"],
    ["127.0.0.1:11435", "local_address", "local_address"],
    ["localhost:8080", "local", "local"],
    ["127.0.0.1:9999", "local_address", "local_address"],
    ["granted.example.com:443", "local", "mode"],
    ["localhost:5432", "local", "local_address"],
    ["of-a-tool.example.com:443", "ask", "mode"],
    ["2130706433:80", "local_address", "local_address"],
    ["app.localhost:80", "local_address", "local_address"],
    ["10.0.0.1:443", "local_address", "local_address"],
    ["169.254.169.254:80", "local_address", "local_address"],
    ["[::ffff:a9fe:a9fe]:80", "local_address", "local_address"],
    ["example.com:22", "ask", "mode"]
  ])("for %s is %s, and %s in a mode that changes nothing", (authority, ask, plan) => {
    assert.strictEqual(verdict("ask", authority), ask)
    assert.strictEqual(verdict("auto_edit", authority), ask)
    assert.strictEqual(verdict("plan", authority), plan)
    assert.strictEqual(verdict("read_only", authority), plan)
  })
})

describe("reachableAddresses", () => {
  const all = ["1.1.1.1", "10.0.0.1", "127.0.0.1", "169.254.169.254", "93.184.216.99"]
  const ownAddresses = new Set(["93.184.216.99"])
  const reachable = (host: string, reach: "public" | "local") =>
    reachableAddresses({ host, port: 443 }, reach, all, ownAddresses)

  it("are those of the internet, without this machine, for a host that is declared or approved", () => {
    assert.deepStrictEqual(reachable("example.com", "public"), ["1.1.1.1"])
  })

  it("are also those of this machine and its networks for a host of the owner, without metadata", () => {
    assert.deepStrictEqual(reachable("example.com", "local"), [
      "1.1.1.1",
      "10.0.0.1",
      "127.0.0.1",
      "93.184.216.99"
    ])
  })
})

describe("grantedPorts", () => {
  it("are ports of this machine that the run can listen on", () => {
    const entries = [
      "127.0.0.1:11434",
      "localhost:5432",
      "[::1]:9000",
      "localhost:80",
      "a.com:8000",
      "localhost"
    ]
    const ports = grantedPorts(entries.flatMap((text) => hostEntryOf(text) ?? []))
    assert.deepStrictEqual(ports, [11434, 5432, 9000])
  })
})
