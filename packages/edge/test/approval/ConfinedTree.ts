/** A workspace as the grant `confined` meets it: sources, installed packages, scripts and settings. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"

const files = [
  "node_modules/.bin/tsc",
  "node_modules/.bin/eslint",
  "node_modules/.bin/prettier",
  "node_modules/.bin/vitest",
  "package.json",
  "README.md",
  "CHANGELOG.md",
  "Makefile",
  ".env",
  "packages/core/package.json",
  "dist/index.js",
  "src/cart/total.ts",
  "src/cart/oldTotal.ts",
  "src/api/client.ts",
  "src/api/handler.ts",
  "src/config/settings.ts",
  "test/cart/total.test.ts",
  "test/fixtures/out.txt",
  "test/fixtures/expected.txt",
  "scripts/try.mjs",
  "scripts/check.sh",
  ".github/workflows/ci.yml",
  "app/models.py",
  "pkg/store/store.go",
  "node_modules/.bin/rimraf",
  "node_modules/.bin/shx",
  "node_modules/.bin/np",
  "node_modules/rimraf/bin.js",
  "packages/core/node_modules/.bin/rimraf",
  "packages/core/node_modules/.bin/tsc",
  "vendor/bin/phpunit",
  "vendor/bin/x.sh",
  ".venv/bin/pytest",
  ".venv/bin/x.py",
  "tools/rimraf",
  "bin/cat",
  "gradlew",
  "src/main.ts",
  "src/rc.txt",
  "src/x.sh",
  "src/x.py",
  "src/clean.sh"
]

export class ConfinedTree {
  readonly #root = realpathSync(mkdtempSync(join(tmpdir(), "corral-granted-")))
  readonly place = workspacePathsAt(this.#root)

  constructor() {
    for (const file of files) {
      mkdirSync(dirname(join(this.#root, file)), { recursive: true })
      writeFileSync(join(this.#root, file), "")
    }
    symlinkSync("../node_modules/rimraf/bin.js", join(this.#root, "src/linked.js"))
  }

  remove(): void {
    rmSync(this.#root, { recursive: true })
  }
}
