/** The command of a run under Seatbelt, and the proxy that it leads to. Everything but the kernel of macOS. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync, symlinkSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { tryBubblewrap } from "../../src/confinement/Bubblewrap.ts"
import { trialsOf } from "../../src/confinement/MeansChoice.ts"
import { probeSeatbelt, seatbeltOf, trySeatbelt } from "../../src/confinement/Seatbelt.ts"
import { openFolder, writeProgram } from "../Folder.ts"

const network = (folder: string) => ({
  folder,
  mode: "ask" as const,
  declared: undefined,
  hosts: ["127.0.0.1:11434"],
  grants: [],
  environment: {},
  user: { ask: () => Effect.succeed("denied" as const), report: () => undefined }
})

const confined = Effect.gen(function* () {
  const folder = openFolder()
  const [real, link] = [join(folder, "real"), join(folder, "link")]
  mkdirSync(real)
  symlinkSync(real, link)
  const command = {
    file: "/bin/agent",
    args: ["-x"],
    cwd: real,
    env: { A: "1" },
    stdin: "ignore" as const,
    temporary: link
  }
  const mounts = [{ kind: "write" as const, path: link }]
  const means = seatbeltOf("/usr/bin/sandbox-exec")
  const { command: spec } = yield* means.confine({ command, mounts, network: network(`${link}.net`) })
  return { real, spec }
})

/** First line of the proxy's response to a request for an address of this machine. */
const statusOf = (port: number, request: string, authorization?: string): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1").setEncoding("utf8")
    socket.once("error", reject).once("data", (text) => {
      socket.destroy()
      resolve(String(text).split("\r\n", 1)[0] ?? "")
    })
    const header = authorization === undefined ? "" : `Proxy-Authorization: Basic ${btoa(authorization)}\r\n`
    socket.write(`${request} HTTP/1.1\r\nHost: x\r\n${header}\r\n`)
  })

describe("seatbeltOf", () => {
  it.effect("starts the program with a profile of real paths, and without a process between", () =>
    Effect.gen(function* () {
      const { real, spec } = yield* confined
      const [flag, profile = "", ...rest] = spec.args
      assert.strictEqual(spec.file, "/usr/bin/sandbox-exec")
      assert.deepStrictEqual([flag, ...rest], ["-p", "--", "/bin/agent", "-x"])
      assert.include(profile, `(allow file-read* file-map-executable file-write* (subpath "${real}"))`)
      assert.notInclude(profile, "/link")
      assert.include(profile, '(remote ip "localhost:11434")')
      assert.isUndefined(spec.isConfined)
      assert.strictEqual(spec.env["XDG_CACHE_HOME"], join(real, "cache"))
      assert.strictEqual(spec.env["A"], "1")
    }).pipe(Effect.scoped)
  )

  it.effect("gives each run a proxy with its own credentials", () =>
    Effect.gen(function* () {
      const [first, second] = [yield* confined, yield* confined]
      const addressOf = ({ spec }: typeof first) => new URL(spec.env["HTTPS_PROXY"] ?? "")
      const [one, other] = [addressOf(first), addressOf(second)]
      const port = Number(one.port)
      assert.include(first.spec.args[1], `(remote ip "localhost:${port}")`)
      assert.notInclude(first.spec.args[1], `localhost:${other.port}`)
      for (const request of ["CONNECT 10.0.0.1:443", "GET http://10.0.0.1/"]) {
        const ask = (by?: string) => Effect.promise(() => statusOf(port, request, by))
        assert.match(yield* ask(), /^HTTP\/1.1 407 /)
        assert.match(yield* ask(`${other.username}:${other.password}`), /^HTTP\/1.1 407 /)
        assert.match(yield* ask(`${one.username}:${one.password}`), /^HTTP\/1.1 403 /)
      }
    }).pipe(Effect.scoped)
  )
})

describe("probeSeatbelt", () => {
  const problemWith = (script: string) =>
    Effect.map(probeSeatbelt(writeProgram(join(openFolder(), "sandbox-exec"), script)), (found) =>
      typeof found === "string" ? "none" : found.problem
    )

  it.effect("refuses a program that only says that it limits", () =>
    Effect.gen(function* () {
      assert.include(yield* problemWith("echo limited"), "does not work here")
    })
  )

  it.effect("refuses a program that runs the test without limits", () =>
    Effect.gen(function* () {
      const problem = yield* problemWith('while [ "$1" != -- ]; do shift; done; shift; exec "$@"')
      assert.include(problem, "ended with 4")
    })
  )

  it.effect("says what the program printed", () =>
    Effect.gen(function* () {
      assert.include(yield* problemWith("echo 'unbound variable: x' >&2; exit 65"), "unbound variable: x")
    })
  )
})

describe("trialsOf", () => {
  it("tries Seatbelt on macOS only, and bubblewrap on Linux first", () => {
    assert.deepStrictEqual(trialsOf("darwin").closed, [trySeatbelt])
    assert.deepStrictEqual(trialsOf("linux").closed, [tryBubblewrap])
    for (const platform of ["linux", "win32", "freebsd"] as const) {
      const { closed, open } = trialsOf(platform)
      assert.notInclude([...closed, ...open], trySeatbelt)
    }
  })
})
