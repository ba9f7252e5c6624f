import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import type { Mount } from "../../src/confinement/Mount.ts"
import { toolFolders, toolMounts } from "../../src/confinement/ProgramFolders.ts"
import { openFolder } from "../Folder.ts"

const system: ReadonlyArray<Mount> = [{ kind: "read", path: "/usr" }]

const write = (path: string, mode = 0o644): void => {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, "")
  chmodSync(path, mode)
}

/** Whether a run with these mounts reads the path. */
const isShown = (mounts: ReadonlyArray<Mount>, path: string): boolean => {
  for (let at = path; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) {
    const mount = mounts.findLast((each) => each.path === at)
    if (mount !== undefined) return mount.kind === "read" || mount.kind === "link"
  }
  return false
}

interface HomeCase {
  readonly home: string
  readonly shown: (path?: string, file?: string, ...args: ReadonlyArray<string>) => (name: string) => boolean
}

/** A home with programs and other files. */
const homeOf = (programs: ReadonlyArray<string>, others: ReadonlyArray<string>): HomeCase => {
  const home = openFolder()
  for (const name of programs) write(join(home, name), 0o755)
  for (const name of others) write(join(home, name))
  return {
    home,
    shown: (path = "", file = "/usr/bin/agent", ...args) => {
      const PATH = path === "" ? "/usr/bin" : `/usr/bin:${join(home, path)}`
      const mounts = toolMounts({ started: [{ file, args }], env: { PATH }, home, system })
      return (name) => isShown(mounts, join(home, name))
    }
  }
}

/** Where package managers and others keep credentials and settings with them. */
const CREDENTIALS = [
  ".bun/install/cache/index",
  ".bunfig.toml",
  ".cargo/config.toml",
  ".cargo/credentials",
  ".cargo/credentials.toml",
  ".condarc",
  ".config/pip/pip.conf",
  ".dotnet/corefx/cryptography/x509stores/my/a.pfx",
  ".fnm/node-versions/v24/installation/etc/npmrc",
  ".gem/credentials",
  ".git-credentials",
  ".gitconfig",
  ".config/git/config",
  ".config/git/credentials",
  ".gradle/gradle.properties",
  ".local/pipx/venvs/a/pip.conf",
  ".local/share/gem/credentials",
  ".local/share/mise/settings.toml",
  ".local/share/pnpm/rc",
  ".local/share/uv/credentials/credentials.toml",
  ".local/share/uv/tools/a/uv-receipt.toml",
  ".local/share/virtualenvs/a/pip.conf",
  ".m2/settings-security.xml",
  ".m2/settings.xml",
  ".npm-global/etc/npmrc",
  ".npmrc",
  ".nuget/NuGet/NuGet.Config",
  ".nvm/.git/config",
  ".nvm/versions/node/v24/etc/npmrc",
  ".pip/pip.conf",
  ".pyenv/versions/3.12/pip.conf",
  ".pypirc",
  ".rustup/tmp/a",
  ".sdkman/candidates/java/21/conf/passwords",
  ".sdkman/etc/config",
  ".volta/hooks.json",
  ".yarnrc.yml"
]

const NEEDED = [
  ".cargo/registry/index/a",
  ".dotnet/sdk/8/dotnet.dll",
  ".gem/ruby/3.2.0/gems/a",
  ".local/lib/python3.12/site-packages/a.py",
  ".local/share/uv/python/3.12/lib/a.py",
  ".local/share/uv/tools/a/lib/a.py",
  ".m2/repository/a.jar",
  ".nvm/versions/node/v24/lib/node_modules/npm/index.js",
  ".nvm/versions/node/v24/include/node.h",
  ".nvm/nvm.sh",
  ".pyenv/versions/3.12/lib/python3.12/a.py",
  ".rustup/toolchains/stable/lib/a.so",
  ".sdkman/candidates/java/21/lib/jrt-fs.jar",
  ".sdkman/candidates/java/21/conf/security/java.security",
  "go/pkg/mod/a.go"
]

const PROGRAMS = [
  ".cargo/bin/cargo",
  ".dotnet/dotnet",
  ".local/bin/agent",
  ".nvm/versions/node/v24/bin/node",
  ".pyenv/versions/3.12/bin/python3",
  ".rustup/toolchains/stable/bin/rustc",
  ".sdkman/candidates/java/21/bin/java"
]

const nameOf = fc.constantFrom("a", "b", ".c", "config.json", "bin", "lib", "etc", "docker.sock", "cache")
const names = fc.array(nameOf, { minLength: 1, maxLength: 3 })
const tree = fc.uniqueArray(fc.tuple(names, fc.boolean()), {
  maxLength: 12,
  selector: ([each]) => each.join("/")
})

describe("toolMounts", () => {
  it("shows toolchains without the credentials next to them", () => {
    const shown = homeOf(PROGRAMS, [...CREDENTIALS, ...NEEDED]).shown(".cargo/bin")
    assert.deepStrictEqual(CREDENTIALS.filter(shown), [])
    assert.deepStrictEqual(
      [...NEEDED, ...PROGRAMS].filter((name) => !shown(name)),
      []
    )
  })

  it("shows a toolchain that has nothing else as one folder", () => {
    const home = homeOf(
      [".nvm/versions/node/v24/bin/node"],
      [".nvm/versions/node/v22/lib/a", ".nvm/versions/node/v24/README.md"]
    )
    const mounts = toolMounts({ started: [{ file: "/usr/bin/agent" }], env: {}, home: home.home, system })
    assert.deepStrictEqual(mounts, [{ kind: "read", path: join(home.home, ".nvm/versions/node") }])
  })

  it("shows the programs of a folder on PATH, and not its parent", () => {
    const { home, shown } = homeOf(
      [".rd/bin/docker", ".rd/bin/kubectl", "scripts/deploy"],
      [".rd/bin/notes", ".rd/config.json", ".rd/lib/helper", "scripts/key"]
    )
    symlinkSync("docker", join(home, ".rd/bin/podman"))
    symlinkSync("../config.json", join(home, ".rd/bin/settings"))
    const visible = [".rd/bin/docker", ".rd/bin/kubectl", ".rd/bin/podman", ".rd/lib/helper"]
    assert.deepStrictEqual(
      visible.filter((name) => !shown(".rd/bin")(name)),
      []
    )
    assert.deepStrictEqual([".rd/bin/notes", ".rd/config.json", ".rd"].filter(shown(".rd/bin")), [])
    assert.isTrue(shown("scripts")("scripts/deploy"))
    assert.isFalse(shown("scripts")("scripts/key"))
  })

  it("of generated folders on PATH shows programs and parts of an installation only", () => {
    fc.assert(
      fc.property(tree, fc.constantFrom("tools", "x/bin", ".local/bin", ".y/z/bin"), (entries, path) => {
        const home = openFolder()
        mkdirSync(join(home, path), { recursive: true })
        const files: Array<readonly [string, boolean]> = []
        for (const [names, isExecutable] of entries) {
          const file = join(dirname(path), ...names)
          try {
            write(join(home, file), isExecutable ? 0o755 : 0o644)
            files.push([file, isExecutable])
          } catch {
            // A folder has that name.
          }
        }
        const mounts = toolMounts({
          started: [{ file: "/usr/bin/agent" }],
          env: { PATH: join(home, path) },
          home,
          system
        })
        for (const [file, isExecutable] of files) {
          const isProgram = isExecutable && (dirname(file) === path || dirname(file) === "bin")
          const isPart =
            path.endsWith("/bin") && path !== ".local/bin" && file.startsWith(`${dirname(path)}/lib`)
          assert.strictEqual(isShown(mounts, join(home, file)), isProgram || isPart, `${file} by ${path}`)
        }
      }),
      { numRuns: 60 }
    )
  })

  it("follows the links of a program", () => {
    const { home, shown } = homeOf(
      [".local/share/agent/v2/agent"],
      [".local/share/agent/v2/data", ".local/share/key"]
    )
    mkdirSync(join(home, ".local/bin"))
    symlinkSync(join(home, ".local/share/agent/v2/agent"), join(home, ".local/bin/agent"))
    const byLink = shown("", join(home, ".local/bin/agent"))
    assert.isTrue(byLink(".local/share/agent/v2/data"))
    assert.isFalse(byLink(".local/share/key"))
  })

  it("shows the packages of a program, and what its folder has, although it is on PATH", () => {
    const { home, shown } = homeOf(
      ["app/node_modules/a/cli.js", "agent/agent"],
      ["app/node_modules/b/index.js", "app/key", "agent/parts.js"]
    )
    const ofPackage = shown("", join(home, "app/node_modules/a/cli.js"))
    assert.isTrue(ofPackage("app/node_modules/b/index.js"))
    assert.isFalse(ofPackage("app/key"))
    assert.isTrue(shown("agent", join(home, "agent/agent"))("agent/parts.js"))
  })

  it("has the folder of a script that an interpreter starts, and none that a later argument names", () => {
    const { home, shown } = homeOf([], ["agent/agent.mjs", "secret/key"])
    const [script, secret] = [join(home, "agent/agent.mjs"), join(home, "secret/key")]
    const foundBy = (program: string, ...args: ReadonlyArray<string>) =>
      ["agent/agent.mjs", "secret/key"].filter(shown("", program, ...args))
    assert.deepStrictEqual(foundBy("/usr/bin/node", "--no-warnings", script, secret), ["agent/agent.mjs"])
    assert.deepStrictEqual(foundBy("/usr/bin/agent", secret), [])
    assert.deepStrictEqual(foundBy("/usr/bin/node", "-e", "0", secret), [])
    assert.deepStrictEqual(foundBy("/usr/bin/sh", "-c", "exit", secret), [])
  })
})

describe("toolFolders", () => {
  it("shows no folder around credentials", () => {
    for (const name of CREDENTIALS)
      for (const { kind, names } of toolFolders)
        assert.isFalse(
          kind === "tree" && name.startsWith(`${names.join("/")}/`),
          `${names.join("/")} shows ${name}`
        )
  })
})
