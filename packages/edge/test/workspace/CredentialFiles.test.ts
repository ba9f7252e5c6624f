/** Files that are never served, under any name, case, link or kind of repository. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { listFolder, previewFile } from "../../src/workspace/WorkspaceFiles.ts"
import { temporaryFolder } from "../Folder.ts"

/** Files with credentials of many programs, and of Corral. */
const credentialFiles = (
  ".netrc .npmrc .pypirc .git-credentials .pgpass .env .env.local .env.production .envrc prod.env .dev.vars .flaskenv .my.cnf .mylogin.cnf " +
  "id_ed25519 id_ed25519_sk server.key cert.pem x.ppk x.asc wallet.dat .aws/credentials .docker/config.json .ssh/config .kube/config " +
  "prod.kubeconfig .git/config .git .hg/hgrc .hgrc .svn/auth/svn.simple/x .bzr/branch/branch.conf .jj/repo/config.toml .config/gh/hosts.yml " +
  ".config/hub .config/glab-cli/config.yml .config/github-copilot/apps.json .config/gcloud/credentials.db .config/doctl/config.yaml " +
  ".config/rclone/rclone.conf .claude/.credentials.json .codex/auth.json .gemini/oauth_creds.json .qwen/oauth_creds.json " +
  ".cargo/credentials.toml .gem/credentials .bundle/config .m2/settings.xml .gradle/gradle.properties .circleci/cli.yml .dbt/profiles.yml " +
  "terraform.tfstate prod.auto.tfvars .terraform.d/credentials.tfrc.json .vault-token .vault_pass vault_password.txt pip.conf .curlrc " +
  "service-account.json service_account.json client_secret.json secrets.yml .secrets.toml credentials.json .bash_history .history " +
  ".corral/edge.token edge.token .databrickscfg .snowsql/config .pulumi/credentials.json .fly/config.yml .password-store/x.gpg"
).split(" ")

const SECRET = "ghp_token-in-a-remote"

const tagOf = (root: string, path: string) =>
  Effect.match(previewFile(root, path), {
    onFailure: ({ _tag }) => _tag,
    onSuccess: ({ content }) => content
  })

/** All files below a folder. */
const filesBelow = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync(
    "git",
    ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "protocol.file.allow=always", ...args],
    {
      cwd,
      stdio: "ignore"
    }
  )

/** A workspace with every kind of git directory in it, each with a token in its config. */
const repositories = Effect.map(temporaryFolder, (folder) => {
  const root = join(folder, "root")
  mkdirSync(root)
  git(root, "init")
  writeFileSync(join(root, "README.md"), "shown")
  git(root, "add", ".")
  git(root, "commit", "-m", "x")
  git(root, "clone", "--bare", root, join(root, "bare"))
  git(root, "worktree", "add", join(root, "tree"))
  git(root, "init", `--separate-git-dir=${join(root, "apart")}`, join(root, "separate"))
  mkdirSync(join(root, "module"))
  git(root, "submodule", "add", join(root, "bare"), "sub")
  for (const config of [".git/config", "bare/config", "apart/config", ".git/modules/sub/config"])
    writeFileSync(join(root, config), `[remote "x"]\n\turl = https://${SECRET}@example.test/x\n`, {
      flag: "a"
    })
  return root
})

describe("holdsCredentials", () => {
  it.effect("withholds every file of every kind of git directory, and shows the work tree", () =>
    Effect.gen(function* () {
      const root = yield* repositories
      symlinkSync(join(root, ".git"), join(root, "docs"))
      symlinkSync(join(root, "apart", "config"), join(root, "notes.txt"))
      const inGit = [".git", "bare", "apart"].flatMap((name) => filesBelow(join(root, name)))
      assert.isAbove(inGit.length, 30)
      for (const file of [...inGit, join(root, "docs", "config"), join(root, "notes.txt")]) {
        const path = file.slice(root.length + 1)
        assert.strictEqual(yield* tagOf(root, path), "PermissionDenied", path)
      }
      for (const folder of [".git", "bare/refs", "apart", "docs", ".git/worktrees/tree"])
        assert.strictEqual(
          (yield* Effect.flip(listFolder(root, folder, undefined, 10)))._tag,
          "PermissionDenied"
        )
      for (const path of ["README.md", "tree/README.md", "sub/README.md"])
        assert.strictEqual(yield* tagOf(root, path), "shown", path)
      // A copy of a git directory counts by its content, not by its name.
      cpSync(join(root, "bare"), join(root, "looks", "harmless"), { recursive: true })
      assert.strictEqual(yield* tagOf(root, "looks/harmless/config"), "PermissionDenied")
      // The workspace itself may be one.
      assert.strictEqual(yield* tagOf(join(root, "bare"), "config"), "PermissionDenied")
    }).pipe(Effect.scoped)
  )

  it.effect("withholds files that hold credentials, in any folder and case, also by a link", () =>
    Effect.gen(function* () {
      const root = yield* temporaryFolder
      const copied = ["", "", "", "~", ".bak", ".old", ".orig"].map(
        (ending) => (name: string) => name + ending
      )
      const names = fc
        .tuple(fc.constantFrom(...credentialFiles), fc.constantFrom(...copied))
        .map(([name, copy]) => copy(name))
      const cased = fc
        .tuple(names, fc.array(fc.boolean(), { minLength: 50, maxLength: 50 }))
        .map(([name, upper]) =>
          [...name].map((letter, i) => (upper[i] === true ? letter.toUpperCase() : letter)).join("")
        )
      const places = fc.array(fc.constantFrom("a", "src", "deep er"), { maxLength: 3 })
      const generated = fc.sample(fc.tuple(places, cased), 80)
      for (const [i, [place, name]] of [
        ...credentialFiles.map((each) => [[], each] as const),
        ...generated
      ].entries()) {
        const path = join(String(i), ...place, name)
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), SECRET)
        symlinkSync(join(root, path), join(root, `link-${i}.txt`))
        for (const requestedPath of [path, `./${path}`, `link-${i}.txt`])
          assert.strictEqual(yield* tagOf(root, requestedPath), "PermissionDenied", requestedPath)
      }
      for (const path of [
        ".env.example",
        "example.env",
        ".gitignore",
        ".mcp.json",
        ".circleci/config.yml",
        ".config/settings.json",
        "gh/list.ts",
        "config/settings.xml",
        "environment.ts",
        "secrets.ts",
        "secrets/list.ts",
        "history.md",
        "pem.ts",
        "id_rsa.pub",
        "main.tf",
        "keyboard.keys.ts",
        "credentials/list.ts"
      ]) {
        mkdirSync(dirname(join(root, path)), { recursive: true })
        writeFileSync(join(root, path), "shown")
        assert.strictEqual(yield* tagOf(root, path), "shown", path)
      }
      assert.isTrue(existsSync(root) && statSync(root).isDirectory())
    }).pipe(Effect.scoped)
  )
})
