/**
 * Hostile program: tries to reach beyond the mode of its run, in many ways, and prints what happened to each as JSON.
 *
 * The attempts that are safe on any machine are those of `corral doctor --probe`. It asks whether settings of the kernel are writable, and never opens one of them for writing.
 */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { connect } from "node:net"
import { dirname, join } from "node:path"
import { expectTrue as expect, resultsOf } from "../../src/confinement/probe/Attempts.ts"
import { callAttempts, rightsAttempts } from "../../src/confinement/probe/RightsAttempts.ts"
import { protectedAttempts, writeAttempts } from "../../src/confinement/probe/FileAttempts.ts"
import { allowedConnections, networkAttempts } from "./hostileNetwork.mjs"

const {
  around,
  credential,
  credentials,
  home,
  hostProcess,
  outside,
  pipes,
  programs,
  secret,
  sibling,
  socket,
  sockets,
  temporary,
  token,
  workspace
} = JSON.parse(process.env["HOSTILE"] ?? "{}")
const file = join(outside, "kept.txt")
const git = join(workspace, ".git")
const own = (name) => join(temporary, name)

const program = (command, ...args) =>
  execFileSync(command, args, { stdio: ["ignore", "pipe", "ignore"], timeout: 5_000 })
const shell = (script) => program("/bin/sh", "-c", script)
const connected = (path) =>
  new Promise((resolve, reject) => {
    const client = connect({ path }, () => resolve(client.destroy()))
    client.once("error", reject)
  })
/** A Python program; an attempt without Python counts as refused. */
const python = (script, ...args) => program("python3", "-c", script, ...args)

const written = (path) => fs.writeFileSync(path, "x")

/** Names that the kernel cannot protect, because they do not exist before, with ways to make them. The Edge reports each. */
const protectedNames = {
  "package.json": written,
  Makefile: written,
  "deep/er/CLAUDE.md": written,
  ".envrc": (path) => shell(`echo x > ${path}`),
  ".idea/workspace.xml": written,
  ".husky/pre-commit": (path) => fs.writeFileSync(path, "x", { mode: 0o755 }),
  ".npmrc": (path) => fs.linkSync(join(workspace, "file.txt"), path),
  ".gitattributes": (path) => fs.symlinkSync("/etc/passwd", path),
  ".tool-versions": (path) => {
    written(join(workspace, "given.txt"))
    fs.renameSync(join(workspace, "given.txt"), path)
  },
  ".env": (path) => python("import os,sys\nos.mknod(sys.argv[1])", path),
  "sub/.git/hooks/post-checkout": written,
  "sub/.git/config": written,
  ".git/commondir": written
}

/** By kind. An attempt fails by throwing; `outside` and `protected` never succeed, `workspace` succeeds in modes with changes. */
export const attempts = {
  outside: {
    ...writeAttempts({ folder: outside, file, own: temporary }),
    "hard link of a system file": () => fs.linkSync("/etc/passwd", own("passwd")),
    "shared memory of a file": () =>
      python(
        "import mmap,sys\nf=open(sys.argv[1],'r+b')\nm=mmap.mmap(f.fileno(),0)\nm[0]=120",
        "/etc/passwd"
      ),
    "a nameless file": () => python("import os,sys\nos.open(sys.argv[1],os.O_TMPFILE|os.O_WRONLY)", outside),
    "a handle of the root": () =>
      python(
        "import ctypes,os\nc=ctypes.CDLL(None,use_errno=True)\nh=ctypes.create_string_buffer(bytes([8,0,0,0,1,0,0,0,2,0,0,0,0,0,0,0]))\nr=c.syscall(304,os.open('/etc',0),h,0)\nassert r>=0"
      ),
    "a loader": () => shell(`/lib64/ld-linux-x86-64.so.2 /usr/bin/touch ${join(outside, "loaded")}`),
    "io_uring of Node": () =>
      execFileSync(
        process.execPath,
        ["-e", `require("fs").promises.writeFile(process.argv[1], "x").catch(() => process.exit(1))`, file],
        {
          env: { UV_USE_IO_URING: "1" },
          stdio: "ignore"
        }
      ),
    "a system folder": () => fs.writeFileSync("/usr/local/bin/corral-hostile", "x"),
    "a system file": () => fs.appendFileSync("/etc/hosts", "x"),
    "the root": () => fs.writeFileSync("/made", "x")
  },
  /** A home below `/tmp` is in the run's own folder: only the host's files say whether something changed. */
  home: {
    "a new file": () => fs.writeFileSync(join(home, "made"), "x"),
    "a shell's profile": () => fs.appendFileSync(join(home, ".bashrc"), "x"),
    "a key": () => fs.writeFileSync(join(home, ".ssh", "authorized_keys"), "x")
  },
  unreadable: {
    "a file outside": () => fs.readFileSync(file),
    "a secret of the home": () => fs.readFileSync(secret),
    "the home's entries": () => expect(fs.readdirSync(home).includes(".ssh")),
    "the Edge's token": () => fs.readFileSync(token),
    "the token through the root of process 1": () => fs.readFileSync(`/proc/1/root${token}`),
    "another run's file": () => fs.readFileSync(sibling),
    "passwords of the system": () => fs.readFileSync("/etc/shadow"),
    "a host's socket": () => connected(socket),
    "processes of the host": () =>
      expect(fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).length > 20),
    "the environment of the Edge": () => {
      const all = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name))
      expect(
        all.some((name) => fs.readFileSync(`/proc/${name}/environ`, "latin1").includes("CONFINEMENT_HOST="))
      )
    }
  },
  /** In folders that the run sees. */
  visible: {
    ...Object.fromEntries(sockets.map((path) => [`the socket ${path}`, () => connected(path)])),
    ...Object.fromEntries(
      pipes.map((path) => [
        `the pipe ${path}`,
        () => fs.writeSync(fs.openSync(path, fs.constants.O_WRONLY | fs.constants.O_NONBLOCK), "x")
      ])
    ),
    ...Object.fromEntries(
      credentials.map((path) => [
        `the credential in ${path}`,
        () => expect(fs.readFileSync(path, "utf8").includes(credential))
      ])
    ),
    "what is around a folder on PATH": () => expect(fs.readdirSync(around).includes("config.json"))
  },
  rights: {
    ...rightsAttempts,
    "unmount of a protected folder": () => shell(`umount ${git}/hooks || umount -l ${git}/hooks`),
    "unmount of a system folder": () => shell("umount -l /usr"),
    remount: () => shell("mount -o remount,rw,bind /usr"),
    "a mount over the workspace": () => shell(`mount --bind /usr ${workspace}`),
    "a file system": () => shell(`mount -t tmpfs none ${temporary}`),
    "the control groups": () => shell(`mount -t cgroup2 none ${temporary}`),
    "another root": () => shell("chroot / true"),
    "namespaces of process 1": () => shell("nsenter -t 1 -m -u true"),
    "a block device": () => shell(`mknod ${own("disk")} b 254 0`),
    "a character device": () => shell(`mknod ${own("memory")} c 1 1`),
    "the host's name": () => shell("hostname corral-hostile"),
    "a trace of a process of the host": () =>
      python(
        "import ctypes,sys\nassert ctypes.CDLL(None).ptrace(16,int(sys.argv[1]),0,0)==0",
        String(hostProcess)
      ),
    "a signal to a process of the host": () => process.kill(hostProcess, 0),
    "a new entry of /dev": () => fs.writeFileSync("/dev/made", "x")
  },
  calls: {
    ...callAttempts(temporary),
    "a call of 32 bits": () =>
      python(
        "import ctypes,mmap\nm=mmap.mmap(-1,4096,prot=7)\nm.write(bytes([0xb8,20,0,0,0,0xcd,0x80,0xc3]))\nf=ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))\nassert f()>0"
      ),
    "a copy with the user of a program": () => {
      shell(`cp -p /usr/bin/passwd ${own("passwd")}`)
      expect((fs.statSync(own("passwd")).mode & 0o6000) !== 0)
    },
    "an archive with the user of a program": () => {
      const archive =
        "import io,sys,tarfile\nt=tarfile.open(sys.argv[1],'w')\ni=tarfile.TarInfo('id')\ni.mode=0o4755\nt.addfile(i,io.BytesIO())\nt.close()"
      python(archive, own("id.tar"))
      shell(`cd ${temporary} && tar -xpf id.tar`)
      expect((fs.statSync(own("id")).mode & 0o6000) !== 0)
    },
    "a node with the user of a program": () =>
      python(
        "import os,stat,sys\nos.mknod(sys.argv[1],stat.S_IFREG|0o4755)\nassert os.stat(sys.argv[1]).st_mode&0o4000",
        own("node")
      ),
    "a file relative to a folder with the user of a program": () =>
      python(
        "import os,sys\nd=os.open(sys.argv[1],os.O_RDONLY)\nos.open('at',os.O_CREAT|os.O_WRONLY,0o4755,dir_fd=d)\nassert os.stat('at',dir_fd=d).st_mode&0o4000",
        temporary
      ),
    "a nameless file with the user of a program": () =>
      python(
        "import os,sys\nf=os.open(sys.argv[1],os.O_TMPFILE|os.O_RDWR,0o4755)\nassert os.fstat(f).st_mode&0o4000",
        temporary
      )
  },
  protected: protectedAttempts(workspace, temporary),
  /** Succeed in the run's copies of protected folders, where it has any. */
  copied: {
    "settings of an editor with opened permissions": () => {
      fs.chmodSync(join(workspace, ".vscode"), 0o755)
      fs.chmodSync(join(workspace, ".vscode", "settings.json"), 0o644)
      fs.writeFileSync(join(workspace, ".vscode", "settings.json"), "x")
    },
    "a new task of an editor": () => {
      fs.chmodSync(join(workspace, ".vscode"), 0o755)
      fs.writeFileSync(join(workspace, ".vscode", "tasks.json"), "x")
    },
    "a link among the settings": () => {
      fs.chmodSync(join(workspace, ".vscode"), 0o755)
      fs.symlinkSync(outside, join(workspace, ".vscode", "outside"))
    },
    "a hook of the repository": () => {
      fs.chmodSync(join(git, "hooks"), 0o755)
      fs.writeFileSync(join(git, "hooks", "post-commit"), "x", { mode: 0o755 })
    }
  },
  workspace: {
    "a new file": () => fs.writeFileSync(join(workspace, "new.txt"), "x"),
    "a changed file": () => fs.appendFileSync(join(workspace, "file.txt"), "x"),
    "a commit": () =>
      shell(
        `cd ${workspace} && git add file.txt && git -c user.name=a -c user.email=a@b.c commit -qm change`
      ),
    "a file through the root of this process": () =>
      fs.writeFileSync(`/proc/self/root${workspace}/root.txt`, "x"),
    "a removed file": () => fs.unlinkSync(join(workspace, "removed.txt"))
  },
  allowed: {
    "its temporary folder": () => fs.writeFileSync(own("note"), "x"),
    "/tmp": () => fs.writeFileSync("/tmp/note", "x"),
    "the state of its runtime": () => fs.writeFileSync(join(home, ".agent", "session"), "x"),
    "a cache": () => fs.writeFileSync(join(home, ".cache", "note"), "x"),
    "shared memory": () => fs.writeFileSync("/dev/shm/note", "x"),
    "reading the workspace": () => fs.readFileSync(join(workspace, "file.txt")),
    ...Object.fromEntries(programs.map((path) => [`the program ${path}`, () => program(path)])),
    "the settings of Git": () => shell("git config --global --list"),
    "git status": () => shell(`cd ${workspace} && git status`),
    "its own process": () => expect(fs.readdirSync("/proc").includes(String(process.pid)))
  },
  network: networkAttempts,
  connections: allowedConnections,
  /** State that a later run would execute. */
  executed: {
    "a hook of the agent": () => fs.writeFileSync(join(home, ".agent", "hooks", "start.sh"), "x"),
    "settings of the agent": () => fs.appendFileSync(join(home, ".agent", "settings.json"), "x"),
    "rename of the agent's hooks": () =>
      fs.renameSync(join(home, ".agent", "hooks"), join(home, ".agent", "old"))
  },
  /** Last: Git obeys some of them. */
  names: Object.fromEntries(
    Object.entries(protectedNames).map(([name, change]) => [
      name,
      () => {
        fs.mkdirSync(join(workspace, dirname(name)), { recursive: true })
        change(join(workspace, name))
      }
    ])
  )
}

const results = {}
for (const [kind, each] of Object.entries(attempts)) results[kind] = await resultsOf(each)
console.log(JSON.stringify(results))
