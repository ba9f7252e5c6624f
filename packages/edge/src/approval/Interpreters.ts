/**
 * Commands that a grant cannot cover because they run more than their words: privilege, shells and interpreters with code in arguments or on stdin, launchers, options that name a
 * program, and the programs that Git runs by its aliases, options and settings. Data and its lookup.
 *
 * In doubt, the user is asked: an unknown subcommand of Git may be an alias for any program. This module knows names; `CarriedCommand` recognizes arguments with a command or code.
 */
import { carriesCommand, changesTextOnly, runsByScript } from "./CarriedCommand.ts"
import { programOf } from "./ProgramName.ts"

const subcommands = new Set(
  (
    "add am annotate apply archive blame branch bundle cat-file check-attr check-ignore check-ref-format checkout cherry cherry-pick clean " +
    "clone commit commit-tree count-objects describe diff diff-files diff-index diff-tree fetch for-each-ref format-patch fsck gc grep " +
    "hash-object help init log ls-files ls-remote ls-tree merge merge-base merge-file merge-tree mv name-rev notes pack-refs " +
    "prune pull push range-diff read-tree rebase reflog remote repack replace rerere reset restore rev-list rev-parse revert rm shortlog " +
    "show show-branch show-ref sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var verify-commit " +
    "verify-tag version whatchanged worktree write-tree"
  ).split(" ")
)

/** Options before the subcommand that change only the output. */
const quiet = new Set([
  "--no-pager",
  "-P",
  "--no-optional-locks",
  "--literal-pathspecs",
  "--no-replace-objects"
])

/** Long options that name a program or a setting, and short ones by subcommand. Git completes abbreviations and takes clusters. */
const longOptions = [
  "exec",
  "upload-pack",
  "receive-pack",
  "ext-diff",
  "open-files-in-pager",
  "config",
  "template",
  "strategy"
]
const shortOptions: Readonly<Record<string, RegExp>> = {
  rebase: /^-[a-zA-Z]*[xs]/,
  merge: /^-[a-zA-Z]*s/,
  grep: /^-[a-zA-Z]*O/,
  clone: /^-[a-zA-Z0-9]*[cu]/,
  "ls-remote": /^-[a-zA-Z]*u/
}

/** A remote that is a command (`ext::sh …`) or contains an option of ssh (`ssh://-oProxyCommand=…`). */
const isRunningRemote = (word: string): boolean => /^[a-z0-9+.-]+::|:\/\/-/i.test(word)

const namesGitProgram = (word: string): boolean => {
  if (!word.startsWith("--") || word === "--") return false
  const [name = ""] = word.slice(2).split("=", 1)
  return longOptions.some((long) => long.startsWith(name))
}

/** How git with these arguments can be granted. */
const gitGrantability = (args: ReadonlyArray<string>): "never" | "exact" | "prefix" => {
  let at = 0
  let elsewhere = false
  for (; args[at]?.startsWith("-") === true; at++) {
    const option = args[at] ?? ""
    // Another repository has its own settings.
    if (option === "-C") {
      elsewhere = true
      at++
    } else if (option === "--version") return "exact"
    else if (!quiet.has(option)) return "never"
  }
  const [subcommand = "", ...rest] = args.slice(at)
  if (!subcommands.has(subcommand)) return "never"
  if (subcommand === "submodule" && rest.some((word) => word === "foreach" || word === "update"))
    return "never"
  const short = shortOptions[subcommand]
  const runs = rest.some(
    (word) => isRunningRemote(word) || namesGitProgram(word) || short?.test(word) === true
  )
  const writes = rest.some((word) => word.startsWith("--ou") || /^-[a-zA-Z]*o/.test(word))
  return runs ? "never" : elsewhere || writes ? "exact" : "prefix"
}

/** How a program can be granted: not at all, with exactly these words, or with more arguments. */
export type Grantability = "never" | "exact" | "prefix"

const named = (names: string): ReadonlySet<string> => new Set(names.split(" "))

/** Programs that act with other rights. */
export const privilegePrograms = named("sudo doas su pkexec run0 sudoedit runuser setpriv gosu su-exec")

export const shells = named(
  "sh bash dash zsh ksh mksh ash fish csh tcsh rbash yash elvish nu xonsh pwsh powershell cmd osh ysh"
)

/** Interpreters. A script can be granted by its name; code in an argument or on stdin cannot. */
export const interpreters = named(
  "python pypy node nodejs iojs perl ruby jruby php lua luajit rscript julia tclsh wish osascript guile racket sbcl clisp groovy scala " +
    "kotlin swift ts-node tsx esno jshell ghci runghc raku elixir iex erl irb ipython scheme janet wscript cscript mshta " +
    "r clj clojure bb jrunscript jython gnuplot octave ocaml qjs vite-node zx crystal"
)

/** Programs whose arguments are a command, or that accept typed commands. */
const launchers = named(
  "xargs parallel watch watchexec entr nodemon script expect unbuffer screen tmux dtach abduco at batch crontab flock start-stop-daemon " +
    "ssh rsh rlogin mosh autossh sshpass pssh pdsh sftp ftp lftp telnet socat nc ncat netcat wsl ansible salt " +
    "npx pnpx bunx uvx pipx dotenv cross-env concurrently foreman honcho direnv mise asdf op doppler aws-vault chamber hyperfine " +
    "chroot unshare nsenter setsid setarch linux ionice chrt taskset numactl proot fakeroot firejail bwrap systemd-run systemctl launchctl " +
    "service run-parts dbus-run-session capsh cpulimit chronic ifne torsocks torify proxychains rlwrap eatmydata chpst envdir softlimit " +
    "strace ltrace gdb lldb perf dtrace bpftrace valgrind rr qemu wine busybox toybox " +
    "vi vim nvim view ex ed emacs nano less more man awk gawk mawk nawk bc dc m4 sqlite psql mysql mongo mongosh redis-cli " +
    "rename prename x86_64 mariadb duckdb goawk prlimit choom ssh-agent xvfb-run sg newgrp arch caffeinate flatpak-spawn env-cmd dotenvx cgexec systemd-inhibit " +
    "faketime fakechroot schroot distrobox toolbox nsjail xterm uxterm urxvt rxvt gnome-terminal konsole alacritty kitty wezterm foot " +
    "terminator x-terminal-emulator emacsclient hx helix kak micro joe jed gvim gview vimdiff rvim rview " +
    "open xdg-open start explorer rundll regsvr msiexec certutil"
)

/** By program: arguments that are followed by another program's words, or that configure the program to run one. */
const launching: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries({
    npm: named(
      "exec exe x explore explor explo expl init innit create creat crea edit config confi conf c set"
    ),
    pnpm: named("exec dlx create env config -c"),
    yarn: named("exec dlx create node config plugin set"),
    bun: named("x exec create repl -e --eval -p --print -"),
    deno: named("eval repl run x serve jupyter install -"),
    uv: named("run tool x"),
    poetry: named("run shell config"),
    pdm: named("run"),
    pipenv: named("run shell"),
    hatch: named("run shell"),
    rye: named("run"),
    conda: named("run"),
    mamba: named("run"),
    bundle: named("exec console config"),
    gem: named("exec"),
    go: named("run generate tool env"),
    cargo: named("install"),
    dotnet: named("run exec tool script"),
    docker: named("run exec compose create container"),
    podman: named("run exec compose create container unshare machine"),
    nerdctl: named("run exec compose container"),
    "docker-compose": named("run exec up"),
    kubectl: named("run exec debug attach cp edit plugin proxy config"),
    oc: named("run exec debug rsh rsync edit"),
    gh: named("alias extension ext cs codespace config"),
    gcloud: named("ssh scp"),
    fly: named("ssh console"),
    flyctl: named("ssh console"),
    heroku: named("run ps:exec"),
    vagrant: named("ssh up"),
    nix: named("run shell develop eval"),
    brew: named("sh ruby edit"),
    find: named("-delete")
  })
)

/** By program: options and settings that name a program, also at the end of a cluster (`-vI zstd`). */
const starting: ReadonlyMap<string, RegExp> = new Map(
  Object.entries({
    tar: /^-?[A-Za-z]*[IF]|^--checkpoint-/,
    bsdtar: /^-?[A-Za-z]*[IF]|^--checkpoint-/,
    rsync: /^-[A-Za-z]*e/,
    find: /^-(exec|ok|fprint|fls)/,
    fd: /^-[A-Za-z]*[xX]/,
    fdfind: /^-[A-Za-z]*[xX]/,
    scp: /^-[A-Za-z0-9]*[SoF]/,
    split: /^--fi/,
    rg: /^--(pre|hostname-bin)/,
    java: /^-(agent|javaagent)/,
    gcc: /^-(wrapper|fplugin|specs|B)/,
    "g++": /^-(wrapper|fplugin|specs|B)/,
    cc: /^-(wrapper|fplugin|specs|B)/,
    clang: /^-(wrapper|fplugin|specs|B)/,
    just: /^-[A-Za-z]*c|^--(command|shell|set)/,
    make: /^-[A-Za-z]*E|=/,
    gmake: /^-[A-Za-z]*E|=/,
    go: /^-{1,2}(exec|toolexec|vettool|overlay|ldflags|gccgoflags|modfile)/,
    cargo: /^--config|^-Z|^\+/,
    npm: /^--(script-shell|node-options|prefix|userconfig|globalconfig)/,
    curl: /^-[A-Za-z]*K|^--conf/,
    wget: /^-[A-Za-z]*e|^--(exec|use-a|conf)/,
    kubectl: /^--kubeconfig/,
    helm: /^--(post-renderer|kubeconfig)/,
    gh: /^-c/,
    zip: /^-[A-Za-z]*T/,
    tcpdump: /^-[A-Za-z]*z/,
    hg: /^--conf|^-[a-z]*e/,
    svn: /^--config-o|^--(diff|editor)-cmd/,
    apt: /^-[a-z]*o/,
    "apt-get": /^-[a-z]*o/,
    "nix-shell": /./
  })
)

/** Long options that name a program, for any program. Most programs complete abbreviations. */
const runningOptions = (
  "exec exec-batch execdir upload-pack receive-pack use-compress-program to-command info-script new-volume-script " +
  "compress-program rsh rsh-command rsync-path ext-diff extcmd open-files-in-pager config-env exec-path init-file rcfile eval script-shell " +
  "preprocessor pager editor proxy-command proxycommand split-string unzip-command"
).split(" ")

const namesProgram = (word: string): boolean => {
  const [name = ""] = word.slice(2).split("=", 1)
  return word.startsWith("--") && name.length > 1 && runningOptions.some((option) => option.startsWith(name))
}

/** An option with which a reader writes a file. */
const writesOutput = (program: string, word: string): boolean =>
  word.startsWith("--out") || ((program === "sort" || program === "tree") && /^-[A-Za-z]*o/.test(word))

/** A code file as the first argument, and not a form of stdin. */
const isScript = (word: string | undefined): boolean =>
  word !== undefined && word !== "" && !/^[-+/]?$|^[-+@]|^\/(c|k)$|^(\/dev|\/proc)\/|:\/\//i.test(word)

const asksVersion = (words: ReadonlyArray<string>): boolean =>
  words.length === 2 && (words[1] === "--version" || words[1] === "--help")

const startsPrograms = (program: string): boolean =>
  shells.has(program) || interpreters.has(program) || launchers.has(program) || privilegePrograms.has(program)

/** How a program with these arguments can be granted. Wrappers are looked through. */
export const grantabilityOf = (words: ReadonlyArray<string>): Grantability => {
  const program = programOf(words)
  const rest = words.slice(1)
  if (program === "" || program.startsWith("ld-") || privilegePrograms.has(program)) return "never"
  if (launchers.has(program)) return "never"
  if (shells.has(program) || interpreters.has(program)) {
    return asksVersion(words) || (isScript(rest[0]) && !runsByScript(rest.slice(1))) ? "exact" : "never"
  }
  const launches = launching.get(program)
  const starts = starting.get(program)
  const runs = (word: string) =>
    launches?.has(word) === true || starts?.test(word) === true || namesProgram(word)
  if (rest.some(runs)) return "never"
  if (program === "sed") return changesTextOnly(rest) ? "exact" : "never"
  if (program === "git") return gitGrantability(rest)
  if (carriesCommand(words, startsPrograms)) return "never"
  if (rest.some((word) => writesOutput(program, word))) return "exact"
  return "prefix"
}
