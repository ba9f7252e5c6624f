import { builtIn } from "@corral/adapters/Registry"
import type { AgentId } from "@corral/domain/identity/Ids"
import { builtInRunners } from "@corral/edge/runtime/Offers"
import { assert, describe, it } from "@effect/vitest"
import type { AgentStatus, Diagnosis } from "../../src/doctor/Diagnosis.ts"
import { formatDiagnosis, formatUpgrade } from "../../src/doctor/DiagnosisReport.ts"
import { makePaint } from "../../src/terminal/Rows.ts"

const holder = { runs: 2, build: "1.0.0", isCompatible: true }

describe("formatUpgrade", () => {
  it("says that nothing is live", () => {
    const text = "No run is live. Corral 2.0.0 can be started instead of a running one.\n"
    assert.strictEqual(formatUpgrade(undefined, "2.0.0"), text)
    assert.strictEqual(formatUpgrade({ ...holder, runs: 0 }, "2.0.0"), text)
  })

  it("says in one sentence what continues, or cannot", () => {
    assert.strictEqual(
      formatUpgrade(holder, "2.0.0"),
      "2 live runs of Corral 1.0.0 continue under Corral 2.0.0. Stop the running Corral, then start this one.\n"
    )
    assert.strictEqual(
      formatUpgrade({ ...holder, runs: 1, isCompatible: false }, "2.0.0"),
      "Corral 2.0.0 cannot continue 1 live run of Corral 1.0.0. Let it end, or cancel it, before you start this version.\n"
    )
  })
})

const adapters = builtIn({ node: "node", scriptedProgram: "scripted.js" })

const agent = (id: string, more: Partial<AgentStatus>): AgentStatus => ({
  id: id as AgentId,
  label: `The ${id}`,
  runtime: id,
  available: true,
  ...more
})

const found = (more: Partial<Diagnosis>): Diagnosis => ({
  corral: "0.1.0",
  node: { version: "24.0.0", ok: true },
  home: { path: "/home/x/.corral", files: [] },
  edge: { running: false, reason: "No Edge is running on this machine." },
  git: { found: true, version: "2.50.0" },
  containment: "environment_mark",
  agents: [],
  runners: [],
  adapterProblems: [],
  ...more
})

const report = (more: Partial<Diagnosis>) =>
  formatDiagnosis(found(more), makePaint(false)).trimEnd().split("\n")

describe("formatDiagnosis", () => {
  it("lists each agent with its path, version, sign-in and hint", () => {
    const agents = [
      agent("one", { version: "1.2.3", path: "/bin/one", signedIn: true }),
      agent("two", { path: "/bin/two", signedIn: false, reason: "not_signed_in", hint: "Run `two login`." }),
      agent("three", { available: false, reason: "command_missing", hint: "Install three." }),
      agent("mine", { runtime: "one", version: "1.2.3", path: "/bin/one" })
    ]
    const lines = report({ agents })
    assert.deepStrictEqual(lines.slice(lines.indexOf("Agents")), [
      "Agents",
      "  ✓ one          The one 1.2.3 /bin/one, signed in",
      "  – two          The two /bin/two not signed in: Run `two login`.",
      "  – three        The three. Install three.",
      "Profiles",
      "  ✓ mine         The mine 1.2.3 /bin/one",
      "Runners"
    ])
  })

  it.each([
    ...[...adapters.values()].map(({ label, probe }) => [label, probe.install] as const),
    ...builtInRunners.map(({ label, install }) => [label, install] as const),
    ["My tool", "The program that its profile names is not on this machine."] as const,
    ["My tool", undefined] as const
  ])("says once that %s is missing, and how to install it: %s", (label, hint) => {
    const missing = {
      label,
      available: false,
      reason: "command_missing",
      ...(hint === undefined ? {} : { hint })
    }
    const runner = { id: "two" as AgentId, command: [], ...missing }
    const all = report({ agents: [agent("one", missing)], runners: [runner] })
    const [line = "", ofRunner] = [1, 3].map((at) =>
      all[all.indexOf("Agents") + at]?.replace(/^ {2}– \w+ +/, "")
    )
    assert.strictEqual(ofRunner, line)
    assert.include(line, hint ?? "not installed")
    assert.isTrue(line.startsWith(hint?.includes(label) === true ? hint : label), line)
    if (hint !== undefined) assert.notInclude(line, "not installed")
  })

  it("shows the drift of an adapter with the versions seen", () => {
    const kinds = [
      { what: "new_event", count: 3 },
      { what: "bad\u001b[2J", count: 1 }
    ]
    const drift = { unknown: 4, kinds, versionsSeen: ["1.2.3", "1.3.0"] }
    const lines = report({ agents: [agent("one", { drift })] })
    assert.include(lines, "    – 4 unrecognized outputs, seen with 1.2.3, 1.3.0 new_event ×3, bad␛[2J ×1")
  })

  it("separates a finding from its hint", () => {
    const home = { path: "/home/x/.corral", files: [] }
    assert.include(
      report({ home, disk: { freeBytes: 94_000_000, ok: false } }),
      "✗ Disk 94 MB free. Free disk space: an Edge needs 100 MB."
    )
    for (const message of ["The store is damaged.", "The store is damaged"]) {
      const hub = { url: "http://127.0.0.1:1", state: "degraded" } as const
      const lines = report({ hub: { ...hub, problems: [{ part: "database", message, hint: "Check it." }] } })
      assert.include(lines, "  ✗ The store is damaged. Check it.")
    }
  })

  it.each([
    [{ kind: "bubblewrap", setting: "required" }, "✓ Confinement bubblewrap, the network is open"],
    [{ kind: "none", setting: "off" }, "– Confinement off. Runs have the rights of your user."],
    [
      { kind: "none", setting: "preferred", problem: "It is missing.", hint: "Install it." },
      "– Confinement none. It is missing. Install it."
    ],
    [
      { kind: "landlock", setting: "preferred", problem: "It is missing.", hint: "Install it." },
      "– Confinement landlock, the network is open. It is missing. Install it."
    ],
    [
      { kind: "none", setting: "required", problem: "It is missing.", hint: "Install it." },
      "✗ Confinement none. It is missing. Install it."
    ]
  ] as const)("shows the confinement %o", (confinement, line) => {
    const lines = report({ confinement: { ...confinement, network: "open" } })
    assert.isTrue(
      lines.some((each) => each.startsWith(line)),
      lines.join("\n")
    )
  })

  it("shows active and waiting runs of an Edge and the problem of its store", () => {
    const edge = {
      running: true,
      url: "http://127.0.0.1:1",
      status: "degraded",
      version: "0.1.0",
      runs: 2,
      queued: 1,
      workspaces: 1,
      store: "degraded (sqlite): database or disk is full",
      containment: "cgroup",
      problems: [
        { part: "store", message: "database or disk is full", hint: "Free disk space." },
        // Shown on a separate line.
        { part: "disk", message: "Less than 100 MB are free.", hint: "Free disk space." }
      ]
    } as const
    const summary = "Edge 0.1.0 at http://127.0.0.1:1: 2 runs"
    assert.include(
      report({ edge }),
      `✗ ${summary} and 1 waiting, 1 workspace, store degraded (sqlite): database or disk is full`
    )
    const lines = report({ edge })
    assert.include(lines, "  ✗ database or disk is full. Free disk space.")
    assert.isFalse(lines.some((line) => line.includes("Less than 100 MB")))
    assert.include(
      report({ edge: { ...edge, status: "ok", queued: 0, store: "ok (sqlite)" } }),
      `✓ ${summary}, 1 workspace, store ok (sqlite)`
    )
  })

  it("marks missing tools, low disk space and an invalid configuration", () => {
    const lines = report({
      git: { found: false },
      disk: { freeBytes: 12_345_678, ok: false },
      config: { status: "degraded", path: "/x", problem: "/x is not usable: it is not JSON." }
    })
    assert.includeMembers(lines, [
      "– git not on PATH",
      "✗ Disk 12 MB free. Free disk space: an Edge needs 100 MB.",
      "✗ Configuration /x is not usable: it is not JSON."
    ])
    assert.include(report({ disk: { freeBytes: 83_500_000_000, ok: true } }), "✓ Disk 83.5 GB free")
  })
})
