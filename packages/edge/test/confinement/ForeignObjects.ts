/** Attempts of a run in place to let later runs read the objects of another repository, and ordinary work, which still succeeds. */
import { assert } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, realpathSync } from "node:fs"
import { join } from "node:path"
import { objectFoldersOf } from "../../src/workspace/WorkspaceRepository.ts"
import { openFolder } from "../Folder.ts"
import { sampleRepository } from "../workspace/Repository.ts"
import { runConfined } from "./ConfinedScript.ts"

export const attempts: Readonly<Record<string, string>> = {
  "a list of further objects": `mkdir -p $G/objects/info; echo $F > $G/objects/info/alternates`,
  "another list with its name": `echo $F > $G/x; mv -f $G/x $G/objects/info/alternates`,
  "another folder with the list": `mv $G/objects/info $G/i; mkdir $G/objects/info; echo $F > $G/objects/info/alternates`,
  "another folder of objects": `mv $G/objects $G/o; ln -s $F $G/objects`,
  "a link with its name": `rm -rf $G/objects/info; ln -s $F/info $G/objects/info; ln -sf $F/x $G/objects/info/alternates`
}

const WORK =
  "git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m x && git gc -q && git repack -adq && touch worked"

/** Runs the scripts one after the other in one confined run, and then the work. */
export const assertNoForeignObjects = async (scripts: ReadonlyArray<string>): Promise<void> => {
  const folder = realpathSync(openFolder())
  const at = (name: string) => join(folder, name)
  const [repository, foreign] = [at("work/.git"), at("other/.git/objects")]
  for (const name of ["edge", "home", "work", "other"]) mkdirSync(at(name))
  for (const name of ["work", "other"]) sampleRepository(at(name))
  await runConfined({
    edge: at("edge"),
    home: at("home"),
    workspace: at("work"),
    folders: { state: [] },
    mode: "auto_edit",
    script: `G=${repository}; F=${foreign}; ${scripts.join("; ")}; ${WORK}`
  })
  assert.deepStrictEqual(
    objectFoldersOf(repository).map(({ real }) => real),
    [join(repository, "objects")]
  )
  assert.isTrue(existsSync(at("work/worked")), "git works in the run")
  execFileSync("git", ["fsck", "--strict"], { cwd: at("work"), stdio: "ignore" })
}
