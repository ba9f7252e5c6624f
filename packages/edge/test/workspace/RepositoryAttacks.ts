/**
 * What a hostile run does to the repository of its workspace, as shell scripts. They run in the worktree. `$R` is the workspace's `.git`, `$W` the
 * run's repository.
 */

const write = (path: string, text: string): string => `printf '%s\\n' '${text}' > "${path}"`

/** Attacks with git, and with the paths that git names. */
export const directAttacks: Readonly<Record<string, string>> = {
  "deletes the objects": `rm -rf "$(git rev-parse --git-common-dir)/objects" "$R/objects"`,
  "moves a branch": `evil=$(git commit-tree -m evil HEAD^{tree})
    git update-ref refs/heads/main $evil
    git --git-dir="$R" update-ref refs/heads/main $evil
    printf '%s\\n' $evil > "$R/refs/heads/main"`,
  "puts a file into the owner's next commit": `blob=$(echo evil | git hash-object -w --stdin)
    for index in "$(git rev-parse --git-common-dir)/index" "$R/index"
    do GIT_INDEX_FILE=$index git update-index --add --cacheinfo 100755,$blob,evil.sh; done`,
  "deletes the stash": `git update-ref -d refs/stash; git --git-dir="$R" stash drop
    rm -f "$R/refs/stash" "$R/logs/refs/stash"`,
  "prunes through its own repository": `git --git-dir="$R" reflog expire --expire=now --all
    git --git-dir="$R" gc -q --prune=now; git gc -q --prune=now; git prune; git repack -a -d -f -q`
}

const TARGETS = [
  "HEAD",
  "config",
  "index",
  "packed-refs",
  "shallow",
  "commondir",
  "logs/HEAD",
  "refs/heads/main",
  "refs/heads/new",
  "refs/replace/0123456789012345678901234567890123456789",
  "objects/info/alternates",
  "objects/pack/pack-0.pack",
  "objects/00/00000000000000000000000000000000000000",
  "hooks/post-commit",
  "info/attributes",
  "info/grafts",
  "modules/sub/config",
  "worktrees/other/gitdir"
]

/** Each kind of write to each file of the repository. */
export const writesOfFiles: Readonly<Record<string, string>> = Object.fromEntries(
  TARGETS.map((name) => [
    `writes ${name}`,
    [
      `mkdir -p "$(dirname "$R/${name}")"`,
      write(`$R/${name}`, "evil"),
      `echo evil >> "$R/${name}"`,
      // Of the repository itself: the next lines follow the link, also in the control group, which is not confined.
      `ln -sf "$R/description" "$R/${name}"`,
      `mv "$(dirname "$R/${name}")" "$R/moved"`,
      `chmod 0 "$R/${name}"`,
      `rm -rf "$R/${name}"`
    ].join("\n")
  ])
)

export const allAttacks = [...Object.values(directAttacks), ...Object.values(writesOfFiles)].join("\n")

const raw = (type: string, text: string): string =>
  `printf '${text}' | git hash-object --literally -t ${type} -w --stdin`

const commit = (tree: string, parent: string): string =>
  raw(
    "commit",
    `tree '${tree}'\\nparent '${parent}'\\nauthor A <a@b.c> 1 +0000\\ncommitter A <a@b.c> 1 +0000\\n\\nevil\\n`
  )

const headIs = (id: string): string => `git update-ref --no-deref HEAD ${id} || echo ${id} > "$W/HEAD"`
const MISSING = "1111111111111111111111111111111111111111"

/** What a run leaves in its own repository, so that the Edge reads it. None of it may reach the workspace. */
export const plantedRepositories: Readonly<Record<string, string>> = {
  "a commit whose parent does not exist": headIs(`$(${commit("$(git rev-parse HEAD^{tree})", MISSING)})`),
  "a commit whose tree does not exist": `echo $(${commit(MISSING, "$(git rev-parse HEAD)")}) > "$W/HEAD"`,
  "a commit that is a blob": `echo $(echo evil | git hash-object -w --stdin) > "$W/HEAD"`,
  "a tree with a repository in it": `blob=$(echo evil | git hash-object -w --stdin)
    tree=$(printf '40000 .git\\0' | cat - | git hash-object --literally -t tree -w --stdin)
    ${headIs(`$(git commit-tree -p HEAD -m evil $(printf "040000 tree $tree\\t.GIT\\n" | git mktree))`)}`,
  "a path that leaves the tree": `blob=$(echo evil | git hash-object -w --stdin)
    hex=$(echo $blob | sed 's/../\\\\x&/g')
    tree=$(printf "100644 ..\\0$hex" | git hash-object --literally -t tree -w --stdin)
    ${headIs("$(git commit-tree -p HEAD -m evil $tree)")}`,
  "a submodule whose URL is an option": `printf '[submodule "a"]\\n\\tpath = a\\n\\turl = -u./evil\\n' > .gitmodules
    git add .gitmodules; git commit -q -m evil`,
  "settings of submodules that are a link": headIs(
    `$(git commit-tree -p HEAD -m evil $(printf "120000 blob $(echo /etc/passwd | git hash-object -w --stdin)\\t.gitmodules\\n" | git mktree))`
  ),
  "a commit that hides behind a replacement": `evil=$(git commit-tree -m evil $(git write-tree))
    mkdir -p "$W/refs/replace"; echo $evil > "$W/refs/replace/$(git rev-parse HEAD)"`,
  "a folder of objects that is a link": `rm -rf "$W/objects/pack"; ln -s "$R/objects/pack" "$W/objects/pack"`,
  "an object that is a link": `git commit -q --allow-empty -m evil; object=$(git rev-parse HEAD)
    path="$W/objects/$(echo $object | cut -c1-2)/$(echo $object | cut -c3-)"
    rm -f "$path"; ln -s "$R/config" "$path"`,
  "a pack that is damaged": `git commit -q --allow-empty -m evil; git repack -a -d -q
    for pack in "$W"/objects/pack/*.pack; do chmod u+w "$pack"; printf evil | dd of="$pack" bs=1 seek=20 conv=notrunc; done`,
  "objects of another repository": `printf '%s\\n' "$OTHER/objects" > "$W/objects/info/alternates"
    echo "$SECRET" > "$W/HEAD"`,
  "a branch that is a pipe": `rm -f "$W/HEAD"; mkfifo "$W/HEAD"`,
  "an index that is a pipe": `rm -f "$W/index"; mkfifo "$W/index"`,
  "refs that are a pipe": `rm -f "$W/packed-refs"; mkfifo "$W/packed-refs"`,
  "refs that are the owner's": `rm -f "$W/packed-refs"; ln -s "$R/packed-refs" "$W/packed-refs"`,
  "a branch that leads outside": `echo "ref: refs/heads/../../../../../../etc/passwd" > "$W/HEAD"`,
  "a name of a branch that is an option": `echo "ref: refs/heads/--upload-pack=evil" > "$W/HEAD"`,
  "other settings": `rm -f "$W/commondir"; echo "$W/evil" > "$W/commondir"; mkdir -p "$W/evil"
    printf '[core]\\n\\tfsmonitor = touch "%s/ran"\\n' "$W" > "$W/evil/config"`,
  "a tree of a thousand million files": `tree=$(printf "100644 blob $(echo x | git hash-object -w --stdin)\\tf\\n" | git mktree)
    for level in 1 2 3 4 5 6 7 8 9 10
    do tree=$(for name in a b c d e f g h; do printf "040000 tree $tree\\t$name\\n"; done | git mktree); done
    ${headIs("$(git commit-tree -p HEAD -m evil $tree)")}`,
  "no repository": `rm -rf "\${W:?}"/* `
}

/** Those that do not concern what is checked out, so that there is nothing to refuse. */
export const harmlessPlants: ReadonlySet<string> = new Set([
  "a commit that hides behind a replacement",
  "a folder of objects that is a link",
  "a branch that leads outside",
  "a name of a branch that is an option"
])
