import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import type { EdgeConfig } from "../src/config/EdgeConfig.ts"
import { type Environment, variablesOf } from "@corral/service/settings/Setting"
import { telemetrySettings } from "@corral/service/telemetry/TelemetrySettings"
import { readEdgeConfig, edgeSettings } from "../src/EdgeSettings.ts"

/** Settings of the Edge alone. The shared ones have their own tests. */
const shared = new Set(variablesOf(telemetrySettings).map(({ name }) => name))
const ownVariables = variablesOf(edgeSettings).filter(({ name }) => !shared.has(name))

const read = (env: Environment): EdgeConfig => Effect.runSync(readEdgeConfig(env))
const refusal = (env: Environment): string => {
  const result = Effect.runSync(Effect.result(readEdgeConfig(env)))
  return Result.isFailure(result) ? result.failure.message : "(taken)"
}

interface Expected {
  readonly of: (config: EdgeConfig) => unknown
  readonly fallback: unknown
  readonly good: ReadonlyArray<readonly [text: string, value: unknown]>
  readonly bad: ReadonlyArray<string>
}

const home = join(homedir(), ".corral")
const workspaces = [
  { id: "api", path: "/src/api", grants: ["full_access"] },
  {
    id: "core",
    path: "/src/core",
    grants: [
      { action: "shell", command: ["npm", "run"], prefix: true },
      { action: "shell", command: ["bash", "scripts/check.sh"], cwd: "sub" },
      { action: "write", files: ["src/**"], tool: "Write" },
      { action: "network", host: "example.com" }
    ]
  },
  { id: "web.2", path: "/src/web" }
]
const notJson = ["[", "api", "{}", '"api"', "null", "[1]"]
const notWhole = ["x", "1.5", "-1", "12px", "NaN", "Infinity", "1e99"]

const expected: Readonly<Record<string, Expected>> = {
  CORRAL_HOME: {
    of: (config) => config.home,
    fallback: home,
    good: [
      ["/srv/corral", "/srv/corral"],
      ["rel/corral", resolve("rel/corral")]
    ],
    bad: []
  },
  CORRAL_EDGE_HOST: {
    of: (config) => config.host,
    fallback: "127.0.0.1",
    good: [
      ["::1", "::1"],
      ["localhost", "localhost"]
    ],
    bad: ["0.0.0.0", "::", "192.168.0.1", "127.0.0.2", "localhost.", "LOCALHOST", "evil.example"]
  },
  CORRAL_EDGE_PORT: {
    of: (config) => config.port,
    fallback: 0,
    good: [
      ["0", 0],
      ["65535", 65_535]
    ],
    bad: [...notWhole, "65536", " "]
  },
  CORRAL_EDGE_TOKEN_FILE: {
    of: (config) => config.tokenFile,
    fallback: join(home, "edge.token"),
    good: [["/run/secrets/edge.token", "/run/secrets/edge.token"]],
    bad: []
  },
  CORRAL_EDGE_HUB_URL: {
    of: (config) => config.hubAddresses ?? "the Hub that was joined",
    fallback: "the Hub that was joined",
    good: [
      ["https://corral.example", ["https://corral.example"]],
      [
        "wss://a.example/base/, https://b.example:8443,http://127.0.0.1:4880",
        ["https://a.example/base", "https://b.example:8443", "http://127.0.0.1:4880"]
      ],
      ["ws://[::1]:1", ["http://[::1]:1"]]
    ],
    bad: [
      "http://corral.example",
      "ws://10.0.0.1:80",
      "ftp://corral.example",
      "corral.example",
      "https://a.example,,https://b.example",
      "https://ada:word@corral.example",
      "https://corral.example?token=1",
      "http://127.0.0.1.evil.example"
    ]
  },
  CORRAL_EDGE_CONFIG_FILE: {
    of: (config) => config.configFile,
    fallback: join(home, "edge.config.json"),
    good: [["/etc/corral/edge.json", "/etc/corral/edge.json"]],
    bad: []
  },
  CORRAL_EDGE_PRICES_FILE: {
    of: (config) => config.pricesFile ?? "the prices that come with Corral",
    fallback: "the prices that come with Corral",
    good: [["/etc/corral/prices.json", "/etc/corral/prices.json"]],
    bad: []
  },
  CORRAL_EDGE_EDITOR_FOLDER: {
    of: (config) => config.editorFolder ?? "none: the agent host is not published",
    fallback: "none: the agent host is not published",
    good: [["/home/user/.config/Code", "/home/user/.config/Code"]],
    bad: []
  },
  CORRAL_EDGE_WORKSPACES: {
    of: (config) => config.workspaces,
    fallback: [],
    good: [
      ["[]", []],
      [JSON.stringify(workspaces), workspaces]
    ],
    bad: [
      ...notJson,
      '[{"id":"api"}]',
      '[{"path":"/a"}]',
      '[{"id":"api","path":"relative"}]',
      '[{"id":"","path":"/a"}]',
      '[{"id":"a/b","path":"/a"}]',
      '[{"id":"../a","path":"/a"}]',
      '[{"id":"a","path":"/a"},{"id":"a","path":"/b"}]',
      '[{"id":"a","path":"/a","grants":["everything"]}]',
      ...[
        { action: "everything" },
        { action: "shell" },
        { action: "shell", command: [] },
        { action: "shell", command: "npm test" },
        { action: "shell", command: ["npm", "test"], prefx: true },
        { action: "shell", command: ["sudo", "ls"] },
        { action: "shell", command: ["bash", "-c", "ls"] },
        { action: "shell", command: ["xargs"], prefix: true },
        { action: "shell", command: ["timeout", "5", "sh"] },
        { action: "shell", command: ["timeout"], prefix: true },
        { action: "shell", command: ["CI=1"] },
        { action: "shell", command: ["CI=1", "npm"], prefix: true },
        { action: "shell", command: ["npm"], prefix: true },
        { action: "shell", command: ["mvn", "test"], prefix: true },
        { action: "shell", command: ["git", "checkout"], prefix: true },
        { action: "shell", command: ["python"], prefix: true },
        { action: "shell", command: ["python", "x.py"], prefix: true },
        { action: "write", files: [] },
        { action: "write", files: ["/etc/passwd"] },
        { action: "write", files: ["../*"] },
        { action: "write", files: ["a"], tol: "Write" },
        { action: "network", host: "https://example.com" },
        { action: "publish" }
      ].map((grant) => JSON.stringify([{ id: "a", path: "/a", grants: [grant] }]))
    ]
  },
  CORRAL_EDGE_ALLOWED_ORIGINS: {
    of: (config) => config.allowedOrigins,
    fallback: [],
    good: [
      ['["app://corral"]', ["app://corral"]],
      [
        '["http://127.0.0.1:5173","http://localhost","http://[::1]:8001"]',
        ["http://127.0.0.1:5173", "http://localhost", "http://[::1]:8001"]
      ],
      ['["vscode-webview://0abc-1","tauri://localhost"]', ["vscode-webview://0abc-1", "tauri://localhost"]]
    ],
    bad: [
      ...notJson,
      ...[
        [
          "*",
          "null",
          "corral",
          "",
          "app:",
          "app://",
          "app://*",
          "app://*.corral",
          "app://a b",
          "APP://corral"
        ],
        [
          "app://corral/",
          "app://corral/path",
          "app://user@corral",
          "app://corral?x",
          "file://",
          "file://localhost"
        ],
        [
          "http://example.com",
          "https://127.0.0.1",
          "https://localhost:1",
          "https://example.com",
          "ws://127.0.0.1"
        ],
        [
          "http://127.0.0.1.example.com",
          "http://127.0.0.2",
          "http://0.0.0.0",
          "http://127.1",
          "http://localhost."
        ],
        ["http://127.0.0.1:80", "http://127.0.0.1/", "http://user@127.0.0.1", "http://LOCALHOST", "data://x"]
      ]
        .flat()
        .map((origin) => JSON.stringify([origin]))
    ]
  },
  CORRAL_EDGE_ALLOWED_ENV: {
    of: (config) => config.allowedEnv,
    fallback: [],
    good: [['["CI", "npm_config_cache"]', ["CI", "npm_config_cache"]]],
    bad: [
      ...notJson,
      '["CORRAL_HOME"]',
      '["PATH"]',
      '["LD_PRELOAD"]',
      '["DYLD_INSERT_LIBRARIES"]',
      '["NODE_OPTIONS"]',
      '["A=B"]',
      '["1A"]',
      '["*"]',
      '[""]'
    ]
  },
  CORRAL_EDGE_RUN_TIMEOUT_MS: {
    of: (config) => config.runTimeoutMs,
    fallback: 1_800_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "0", "999", "86400001"]
  },
  CORRAL_EDGE_RUN_CAP_MS: {
    of: (config) => config.times.cap,
    fallback: 86_400_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "999", "86400001"]
  },
  CORRAL_EDGE_CANCEL_GRACE_MS: {
    of: (config) => config.times.cancel,
    fallback: 3_000,
    good: [
      ["50", 50],
      ["60000", 60_000]
    ],
    bad: [...notWhole, "0", "49", "60001"]
  },
  CORRAL_EDGE_APPROVAL_TTL_MS: {
    of: (config) => config.times.approval,
    fallback: 1_800_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "999", "86400001"]
  },
  CORRAL_EDGE_SETTLE_MS: {
    of: (config) => config.times.settle,
    fallback: 10_000,
    good: [
      ["100", 100],
      ["600000", 600_000]
    ],
    bad: [...notWhole, "99", "600001"]
  },
  CORRAL_EDGE_BACKGROUND_MS: {
    of: (config) => config.times.background,
    fallback: 1_800_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "999", "86400001"]
  },
  CORRAL_EDGE_CHECK_MS: {
    of: (config) => config.times.check,
    fallback: 600_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "999", "86400001"]
  },
  CORRAL_EDGE_FIRST_EVENT_MS: {
    of: (config) => config.times.firstEvent,
    fallback: 120_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "999", "86400001"]
  },
  CORRAL_EDGE_SILENCE_MS: {
    of: (config) => config.times.silence,
    fallback: 1_800_000,
    good: [
      ["1000", 1_000],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "999", "86400001"]
  },
  CORRAL_EDGE_SILENCE_NOTICE_MS: {
    of: (config) => config.times.silenceNotice,
    fallback: 30_000,
    good: [
      ["100", 100],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "99", "86400001"]
  },
  CORRAL_EDGE_ORPHAN_MS: {
    of: (config) => config.orphanMs,
    fallback: 1_800_000,
    good: [
      ["0", 0],
      ["86400000", 86_400_000]
    ],
    bad: [...notWhole, "-1", "86400001"]
  },
  CORRAL_EDGE_CONTAINMENT: {
    of: (config) => config.containment,
    fallback: "auto",
    good: [
      ["auto", "auto"],
      ["environment_mark", "environment_mark"]
    ],
    bad: ["cgroup", "AUTO", "none", " "]
  },
  CORRAL_EDGE_CONFINEMENT: {
    of: (config) => config.confinement,
    fallback: "preferred",
    good: [
      ["off", "off"],
      ["preferred", "preferred"],
      ["required", "required"]
    ],
    bad: ["on", "OFF", "none", " "]
  },
  CORRAL_EDGE_RUN_HOSTS: {
    of: (config) => config.runHosts,
    fallback: [],
    good: [
      ["registry.npmjs.org", ["registry.npmjs.org"]],
      ["*.example.com, 127.0.0.1:11434", ["*.example.com", "127.0.0.1:11434"]]
    ],
    bad: ["https://example.com", "example.com:0", "exa mple.com", "a.com,b..com", "*"]
  },
  CORRAL_EDGE_PROXY_KEYS: {
    of: (config) => config.proxyKeys,
    fallback: [],
    good: [
      ['[{"adapter":"pi","setting":"preferred"}]', [{ adapter: "pi", setting: "preferred" }]],
      [
        '[{"adapter":"pi","addresses":{"A_KEY":["http://127.0.0.1:8080/v1"]}}]',
        [{ adapter: "pi", addresses: { A_KEY: ["http://127.0.0.1:8080/v1"] } }]
      ]
    ],
    bad: [
      '["pi"]',
      '[{"adapter":"pi"},{"adapter":"pi"}]',
      '[{"adapter":"pi","setting":"off"}]',
      '[{"adapter":"pi","addresses":{"A_KEY":["unix:/socket"]}}]',
      '[{"adapter":"pi","addresses":{"A_KEY":["https://user:pass@a.test"]}}]',
      '[{"adapter":"pi","addresses":{"CORRAL_KEY":["https://a.test"]}}]'
    ]
  },
  CORRAL_EDGE_MAX_RUNS: {
    of: (config) => config.maxRuns,
    fallback: 1_000,
    good: [
      ["1", 1],
      ["100000", 100_000]
    ],
    bad: [...notWhole, "0", "100001"]
  },
  CORRAL_EDGE_MAX_QUEUED: {
    of: (config) => config.maxQueued,
    fallback: 1_000,
    good: [
      ["0", 0],
      ["100000", 100_000]
    ],
    bad: [...notWhole, "-1", "100001"]
  },
  CORRAL_EDGE_REQUESTS_PER_SECOND: {
    of: (config) => config.requestsPerSecond,
    fallback: 5_000,
    good: [
      ["1", 1],
      ["1000000", 1_000_000]
    ],
    bad: [...notWhole, "0", "1000001"]
  },
  CORRAL_EDGE_RETENTION_DAYS: {
    of: (config) => config.retention.days,
    fallback: 30,
    good: [
      ["0", 0],
      ["36500", 36_500]
    ],
    bad: [...notWhole, "36501"]
  },
  CORRAL_EDGE_RETENTION_MAX_MB: {
    of: (config) => config.retention.maxMiB,
    fallback: 2_048,
    good: [
      ["0", 0],
      ["16777216", 16_777_216]
    ],
    bad: [...notWhole, "16777217"]
  },
  CORRAL_EDGE_CACHE_MAX_MB: {
    of: (config) => config.cacheMaxMiB,
    fallback: 10_240,
    good: [
      ["0", 0],
      ["16777216", 16_777_216]
    ],
    bad: [...notWhole, "16777217"]
  },
  CORRAL_EDGE_RAW_OUTPUT: {
    of: (config) => config.rawOutput,
    fallback: "off",
    good: [
      ["off", "off"],
      ["keep", "keep"]
    ],
    bad: ["on", "KEEP", "true", " "]
  },
  CORRAL_EDGE_STREAM_PING_MS: {
    of: (config) => config.streamTimes?.pingEveryMs,
    fallback: 20_000,
    good: [
      ["1000", 1_000],
      ["20000", 20_000]
    ],
    bad: [...notWhole, "999", "20001"]
  },
  CORRAL_EDGE_STREAM_STALL_MS: {
    of: (config) => config.streamTimes?.stalledAfterMs,
    fallback: 30_000,
    good: [
      ["1000", 1_000],
      ["3600000", 3_600_000]
    ],
    bad: [...notWhole, "999", "3600001"]
  }
}

describe("readEdgeConfig", () => {
  it("has an expectation for every variable", () => {
    assert.deepStrictEqual(
      Object.keys(expected),
      ownVariables.map(({ name }) => name)
    )
  })

  for (const { name, default: fallback } of ownVariables) {
    const { of, good, bad, ...what } = expected[name] ?? assert.fail(name)

    it(`${name} is ${fallback} where it is not set, or empty`, () => {
      assert.deepStrictEqual(of(read({})), what.fallback)
      assert.deepStrictEqual(of(read({ [name]: "" })), what.fallback)
    })

    it(`${name} is documented with its fallback`, () => {
      const plain = typeof what.fallback === "string" ? what.fallback : JSON.stringify(what.fallback)
      assert.strictEqual(fallback.replace("$CORRAL_HOME", "~/.corral").replace("~", homedir()), plain)
    })

    it.each(good)(`${name} takes %s`, (text, value) => {
      assert.deepStrictEqual(of(read({ [name]: text })), value)
    })

    if (bad.length > 0) {
      it.each(bad)(`${name} refuses %j in one sentence that names it and does not repeat it`, (text) => {
        const message = refusal({ [name]: text })
        assert.match(message, new RegExp(`^${name} is not usable: expected [^.]+(\\.[^.]+)*\\.$`))
        assert.notInclude(message, "\n")
      })
    }
  }

  it("reads the telemetry settings, as every service does", () => {
    const config = read({ CORRAL_OTLP_URL: "http://127.0.0.1:4318/" })
    assert.strictEqual(config.telemetry?.collector, "http://127.0.0.1:4318")
    assert.match(refusal({ CORRAL_METRICS_TOKEN: "short" }), /^CORRAL_METRICS_TOKEN is not usable/)
  })

  it("keeps its token beside its home", () => {
    assert.strictEqual(read({ CORRAL_HOME: "/srv/corral" }).tokenFile, "/srv/corral/edge.token")
  })

  it("keeps the environment for the children, without what is not set", () => {
    assert.deepStrictEqual(read({ PATH: "/bin", NOT: undefined }).environment, { PATH: "/bin" })
  })
})
