/** Generated commands that publish or deploy: none is of low risk, and none is remembered. */
import { assert, describe, it } from "@effect/vitest"
import { effort } from "@corral/testing/time/Effort"
import { Seeded } from "../harness/Seeded.ts"
import { policyOf, session, shell } from "./RunPolicies.ts"

const random = new Seeded("release words")
const one = (words: ReadonlyArray<string>): string => words[random.whole(0, words.length - 1)] ?? ""

const assess = (line: string) => policyOf({ sessionId: session }).assess(shell(line)).request

const isReleased = (line: string): void => {
  const { action, risk, scopes } = assess(line)
  assert.include(["publish", "deploy"], action, line)
  assert.include(["medium", "high"], risk, line)
  assert.deepStrictEqual(scopes, ["once"], line)
}

describe("Publishing and deploying", () => {
  it.each([
    "nerdctl push x",
    "buildah push x",
    "podman push x",
    "podman --remote push x",
    "skopeo copy a b",
    "docker buildx build . --output=type=registry",
    "docker buildx build . -o type=image,push=true",
    "docker build --push .",
    "goreleaser release",
    "cargo release",
    "yarn workspace x publish",
    "pnpm -r publish",
    "lerna version",
    "sbt publish",
    "sbt publishSigned",
    "dart pub publish",
    "flutter pub publish",
    "pod trunk push",
    "cabal upload x",
    "stack upload .",
    "luarocks upload x",
    "fastlane deliver",
    "eas submit",
    "python setup.py upload",
    "python -m twine upload x",
    "make build publish",
    "sst deploy",
    "supabase db push",
    "prisma migrate deploy",
    "argocd app sync x",
    "flux reconcile x",
    "puppet apply x.pp",
    "gh api -X DELETE repos/o/r",
    "gh api -XDELETE repos/o/r",
    "gh api repos/o/r/git/refs -f tag=1",
    "gh api repos/o/r --method=PATCH",
    "gh api repos/o/r --input x.json",
    "aws lambda invoke x",
    "gcloud run services replace x",
    "git lfs push origin",
    "mvnw deploy"
  ])("is found in %j", isReleased)

  it("is found in a program of any name", () => {
    for (let left = 400 * effort; left > 0; left--) {
      const program = Array.from({ length: random.whole(3, 8) }, () => one([..."akoqtuz"])).join("") + "q"
      const verb = one(
        "publish push upload release submit deliver trunk deploy apply sync reconcile promote rollout".split(
          " "
        )
      )
      const before = one(["", "app ", "db ", "workspace x ", "--verbose ", "-n prod ", "pub "])
      const wrapper = one(["", "timeout 5 ", "nice ", "env CI=1 ", "sudo ", "npx "])
      isReleased(`${wrapper}${program} ${before}${verb}${one(["", " x", " --yes", " ./dist"])}`)
    }
  })

  it("is found in a program that is not the system's, although its name is exempt", () => {
    for (const program of "cat rm git tar cp npm yarn cd grep".split(" "))
      for (const folder of ["./", "bin/", "../", "/opt/x/bin/", "/tmp/"])
        isReleased(`${folder}${program} test publish`.replace("npm test", "npm x"))
    for (const folder of ["/bin/", "/usr/local/bin/"])
      assert.notInclude(["publish", "deploy"], assess(`${folder}cat publish`).action)
  })

  it("is not found in names of files, tests and branches", () => {
    for (const word of ["publish", "push", "release", "deploy", "apply", "sync"])
      for (const line of [
        `cat ${word}`,
        `grep -r ${word} src`,
        `echo ${word}`,
        `cp ${word} x`,
        `rm -r ${word}`,
        `cd ${word} && ls`,
        `pytest ${word}`,
        `cargo test ${word}`,
        `npm test ${word}`,
        `git switch ${word}`,
        `git commit -m ${word}`,
        `git stash ${word}`
      ])
        assert.notInclude(["publish", "deploy"], assess(line).action, line)
    for (const line of ["gh release list", "uv sync", "git apply x", "gh api repos/o/r", "docker build ."])
      assert.notInclude(["publish", "deploy"], assess(line).action, line)
  })
})
