/** Projects that a confined agent builds and tests in `auto_edit`, with the toolchains of this machine and without a network. */
import { EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { canConfine } from "../confinement/CanConfine.ts"
import { shellOutput } from "./ShellOutput.ts"

/** Output of a program on this machine's PATH; `undefined` if it fails or is not installed. */
const printed = (program: string, ...args: ReadonlyArray<string>): string | undefined => {
  const { status, stdout } = spawnSync(program, args, { encoding: "utf8" })
  return status === 0 ? stdout.trim() : undefined
}

/** Programs behind the names that version managers put on PATH. They look in the home of their user, which is not that of the test. */
const folderIn = (prefix: string | undefined): ReadonlyArray<string> =>
  prefix === undefined ? [] : [join(prefix, "bin")]
const python = folderIn(printed("python3", "-c", "import sys; print(sys.prefix)"))
const rust = folderIn(printed("rustc", "--print", "sysroot"))
const go = folderIn(printed("go", "env", "GOROOT"))
const packages = dirname(dirname(fileURLToPath(import.meta.resolve("typescript/package.json"))))
const PATH = [
  dirname(process.execPath),
  join(packages, ".bin"),
  ...python,
  ...rust,
  ...go,
  "/usr/local/bin",
  "/usr/bin",
  "/bin"
].join(delimiter)
const has = (folders: ReadonlyArray<string>, program: string): boolean =>
  [...folders, "/usr/local/bin", "/usr/bin"].some((folder) => existsSync(join(folder, program)))
const hasPython = has(python, "python3")
const hasPytest = has(python, "pytest")
const hasGo = has(go, "go")
const hasRust = has(rust, "cargo") && printed("cc", "--version") !== undefined

describe.skipIf(!canConfine)("a confined agent in auto_edit", () => {
  const edge = new EdgeProcess({ env: { CORRAL_EDGE_CONFINEMENT: "required", PATH } })
  beforeAll(() => edge.start())
  afterAll(() => edge.remove())

  /** Writes the files, runs the commands in their folder, and asserts that all succeed. */
  const builds = async (
    name: string,
    files: Readonly<Record<string, string>>,
    ...commands: ReadonlyArray<string>
  ): Promise<string> => {
    for (const [path, content] of Object.entries(files)) {
      const file = join(edge.workspace, name, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
    }
    const output = await shellOutput(
      edge,
      `cd ${name} && ${commands.join(" && ")} && echo all passed`,
      "auto_edit"
    )
    assert.match(output, /all passed\n$/, output)
    return output
  }

  it("builds and tests a Node project", async () => {
    const output = await builds(
      "node",
      {
        "package.json": JSON.stringify({
          type: "module",
          scripts: { build: "tsc", test: "node --test" }
        }),
        "tsconfig.json": JSON.stringify({
          compilerOptions: {
            target: "es2022",
            module: "nodenext",
            rootDir: "src",
            outDir: "dist",
            strict: true,
            types: []
          },
          include: ["src"]
        }),
        "src/add.ts": "export const add = (a: number, b: number): number => a + b\n",
        "dist/add.test.js":
          'import { test } from "node:test"\nimport assert from "node:assert"\nimport { add } from "./add.js"\ntest("adds", () => assert.equal(add(1, 2), 3))\n'
      },
      "npm run build",
      "npm test"
    )
    assert.match(output, /pass 1/)
  })

  it.skipIf(!hasPython)("tests a Python project in a virtual environment", async () => {
    const test =
      "import unittest\nfrom add import add\nclass Add(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(1, 2), 3)\n"
    const output = await builds(
      "python",
      { "add.py": "def add(a, b):\n    return a + b\n", "test_add.py": test },
      "python3 -m venv --without-pip .venv",
      ".venv/bin/python -m unittest 2>&1"
    )
    assert.match(output, /Ran 1 test/)
  })

  it.skipIf(!hasPytest)("tests a Python project with pytest", async () => {
    const output = await builds(
      "pytest",
      { "test_add.py": "def test_adds():\n    assert 1 + 2 == 3\n" },
      "pytest -q"
    )
    assert.match(output, /1 passed/)
  })

  it.skipIf(!hasGo)("builds and tests a Go project", async () => {
    const test =
      'package add\n\nimport "testing"\n\nfunc TestAdds(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("it does not add")\n\t}\n}\n'
    const output = await builds(
      "go",
      {
        "go.mod": "module example.com/add\n\ngo 1.19\n",
        "add.go": "package add\n\nfunc Add(a, b int) int { return a + b }\n",
        "add_test.go": test,
        "cmd/add/main.go":
          'package main\n\nimport (\n\t"example.com/add"\n\t"fmt"\n)\n\nfunc main() { fmt.Println("sum", add.Add(1, 2)) }\n'
      },
      "go build -o add ./cmd/add",
      "./add",
      "go test -v ./..."
    )
    assert.match(output, /sum 3/)
    assert.match(output, /--- PASS: TestAdds/)
  })

  it.skipIf(!hasRust)("builds and tests a Rust project", async () => {
    const output = await builds(
      "rust",
      {
        "Cargo.toml": '[package]\nname = "add"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs":
          "pub fn add(a: i32, b: i32) -> i32 { a + b }\n#[test]\nfn adds() { assert_eq!(add(1, 2), 3); }\n"
      },
      "cargo build --offline",
      "cargo test --offline 2>&1"
    )
    assert.match(output, /1 passed/)
  })
})
