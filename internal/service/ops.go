package service

import "github.com/loci-memory/loci/internal/op"

// Ops lists every operation: the whole service on one screen.
var Ops = &op.Table{}

// The operations. A summary is also the whole description of a tool, so it has all that agents need.
var (
	MemoryCreate = op.Add(Ops, "memory.create", "POST /v1/memories", "Store one durable piece of knowledge.",
		op.Account, op.ToolCore, (*Service).CreateMemory, op.MayCreate)
	MemoryGet = op.Add(Ops, "memory.get", "GET /v1/memories/{memoryId}", "Read one memory whole.",
		op.Account, op.ToolCore, (*Service).GetMemory)
	MemoryList = op.Add(Ops, "memory.list", "GET /v1/memories", "List active memories, newest first.", op.Account,
		op.ToolCore, (*Service).ListMemories)
	MemorySearch = op.Add(Ops, "memory.search", "POST /v1/memories/search", "Find memories, best first.",
		op.Account, op.ToolCore, (*Service).SearchMemories, op.Read)

	MemoryContext = op.Add(Ops, "memory.context", "GET /v1/memories/context",
		"Read what is known before a task: verified and recent first.", op.Account, op.ToolCore,
		(*Service).ReadContext)
	MemoryUpdate = op.Add(Ops, "memory.update", "PATCH /v1/memories/{memoryId}", "Change fields of a memory.",
		op.Account, op.ToolCore, (*Service).UpdateMemory, op.IfMatch)
	MemoryAppend = op.Add(Ops, "memory.append", "POST /v1/memories/{memoryId}/append",
		"Add text at the end of a memory.", op.Account, op.ToolCore, (*Service).AppendMemory, op.IfMatch)
	MemoryVerify = op.Add(Ops, "memory.verify", "POST /v1/memories/{memoryId}/verify",
		"Record a review of a memory.", op.Account, op.ToolCore, (*Service).VerifyMemory, op.IfMatch)
	MemorySupersede = op.Add(Ops, "memory.supersede", "POST /v1/memories/{memoryId}/supersede",
		"Replace an outdated memory by another.", op.Account, op.ToolCore, (*Service).SupersedeMemory,
		op.IfMatch, op.Idempotent)
	MemoryArchive = op.Add(Ops, "memory.archive", "POST /v1/memories/{memoryId}/archive",
		"Archive a memory: lists and search omit it.", op.Account, op.ToolCore, (*Service).ArchiveMemory,
		op.IfMatch, op.Idempotent)
	MemoryRestore = op.Add(Ops, "memory.restore", "POST /v1/memories/{memoryId}/restore",
		"Restore an archived or superseded memory.", op.Account, op.ToolCore, (*Service).RestoreMemory,
		op.IfMatch, op.Idempotent)
	MemoryDelete = op.Add(Ops, "memory.delete", "DELETE /v1/memories/{memoryId}",
		"Delete a memory with all its versions. This cannot be undone.", op.Account, op.ToolFull,
		(*Service).DeleteMemory, op.IfMatch, op.Destructive)
	MemoryVersions = op.Add(Ops, "memory.versions", "GET /v1/memories/{memoryId}/versions",
		"List the versions of a memory, newest first.", op.Account, op.NoTool, (*Service).ListVersions)
	MemoryRevert = op.Add(Ops, "memory.revert", "POST /v1/memories/{memoryId}/revert",
		"Restore a version of a memory as its newest version.", op.Account, op.NoTool, (*Service).RevertMemory,
		op.IfMatch)
	MemorySimilar = op.Add(Ops, "memory.similar", "GET /v1/memories/{memoryId}/similar",
		"List memories with nearly the same text.", op.Account, op.NoTool, (*Service).SimilarMemories)

	AtlasList = op.Add(Ops, "atlas.list", "GET /v1/atlases", "List atlases (knowledge bases), newest first.",
		op.Account, op.ToolStable, (*Service).ListAtlases)
	AtlasGet = op.Add(Ops, "atlas.get", "GET /v1/atlases/{atlasId}", "Read one atlas.", op.Account, op.ToolStable,
		(*Service).GetAtlas)
	AtlasCreate = op.Add(Ops, "atlas.create", "POST /v1/atlases", "Create an atlas. Its keywords route memories to it.",
		op.Account, op.ToolStable, (*Service).CreateAtlas, op.Creates)
	AtlasUpdate = op.Add(Ops, "atlas.update", "PATCH /v1/atlases/{atlasId}",
		"Rename an atlas, or replace its keywords or description.", op.Account, op.ToolStable, (*Service).UpdateAtlas,
		op.IfMatch)

	AtlasArchive = op.Add(Ops, "atlas.archive", "POST /v1/atlases/{atlasId}/archive",
		"Archive an atlas, or restore it.",
		op.Account, op.ToolStableOnly, (*Service).ArchiveAtlas, op.Idempotent)
	AtlasDelete = op.Add(Ops, "atlas.delete", "DELETE /v1/atlases/{atlasId}",
		"Delete an atlas with all its memories. This cannot be undone.", op.Account, op.ToolFull,
		(*Service).DeleteAtlas, op.Destructive)

	WorkspaceList = op.Add(Ops, "workspace.list", "GET /v1/workspaces",
		"List the workspaces you belong to, newest first.", op.Account, op.ToolStable, (*Service).ListWorkspaces)
	WorkspaceGet = op.Add(Ops, "workspace.get", "GET /v1/workspaces/{workspaceId}", "Read one workspace.",
		op.Account, op.ToolStable, (*Service).GetWorkspace)
	WorkspaceCreate = op.Add(Ops, "workspace.create", "POST /v1/workspaces", "Create a team workspace that you own.",
		op.Person, op.ToolStable, (*Service).CreateWorkspace, op.Creates)
	WorkspaceUpdate = op.Add(Ops, "workspace.update", "PATCH /v1/workspaces/{workspaceId}",
		"Rename a workspace, or change its settings.", op.Account, op.NoTool, (*Service).UpdateWorkspace, op.IfMatch)
	WorkspaceArchive = op.Add(Ops, "workspace.archive", "POST /v1/workspaces/{workspaceId}/archive",
		"Archive a team workspace, or restore it.", op.Account, op.ToolStableOnly, (*Service).ArchiveWorkspace,
		op.Idempotent)
	WorkspaceDelete = op.Add(Ops, "workspace.delete", "DELETE /v1/workspaces/{workspaceId}",
		"Delete a team workspace without atlases.", op.Account, op.ToolFull, (*Service).DeleteWorkspace, op.Destructive)
	WorkspaceLeave = op.Add(Ops, "workspace.leave", "POST /v1/workspaces/{workspaceId}/leave",
		"Leave a team workspace.", op.Account, op.ToolStable, (*Service).LeaveWorkspace, op.Destructive, op.Idempotent,
		op.ServerOnly)
	WorkspaceTransfer = op.Add(Ops, "workspace.transfer", "POST /v1/workspaces/{workspaceId}/owner-transfer",
		"Make another member the owner; you become an admin.", op.Account, op.ToolStable,
		(*Service).TransferWorkspace, op.Destructive, op.Idempotent, op.ServerOnly)
	MemberList = op.Add(Ops, "member.list", "GET /v1/workspaces/{workspaceId}/members",
		"List the members of a workspace and their roles.", op.Account, op.ToolStable, (*Service).ListMembers)

	MemberUpdate = op.Add(Ops, "member.update", "PATCH /v1/workspaces/{workspaceId}/members/{userId}",
		"Give a member another role.", op.Account, op.ToolStable, (*Service).UpdateMember, op.ServerOnly)
	MemberRemove = op.Add(Ops, "member.remove", "DELETE /v1/workspaces/{workspaceId}/members/{userId}",
		"Remove a member from a workspace.", op.Account, op.ToolStable, (*Service).RemoveMember, op.Destructive,
		op.ServerOnly)

	InvitationList = op.Add(Ops, "invitation.list", "GET /v1/workspaces/{workspaceId}/invitations",
		"List the invitations sent from a workspace.", op.Account, op.ToolStable, (*Service).ListInvitations,
		op.ServerOnly)
	InvitationCreate = op.Add(Ops, "invitation.create", "POST /v1/workspaces/{workspaceId}/invitations",
		"Invite people into a workspace by e-mail.", op.Account, op.ToolStable, (*Service).CreateInvitations,
		op.Creates, op.ServerOnly)
	InvitationPending = op.Add(Ops, "invitation.pending", "GET /v1/workspace-invitations",
		"List invitations to you that are pending.", op.Account, op.ToolStable, (*Service).ListPendingInvitations,
		op.ServerOnly)
	InvitationRespond = op.Add(Ops, "invitation.respond", "POST /v1/workspace-invitations/{invitationId}/respond",
		"Accept or decline an invitation.", op.Account, op.ToolStable, (*Service).RespondInvitation, op.Idempotent,
		op.ServerOnly)

	InvitationRevoke = op.Add(Ops, "invitation.revoke", "DELETE /v1/workspace-invitations/{invitationId}",
		"Revoke a pending invitation.", op.Account, op.ToolStable, (*Service).RevokeInvitation, op.ServerOnly)

	AccountStatus = op.Add(Ops, "account.status", "GET /v1/status", "Show plan, usage and quotas.", op.Account,
		op.ToolStable, (*Service).Status)
	AccountMe = op.Add(Ops, "account.me", "GET /v1/me", "Show your account.", op.Account, op.NoTool, (*Service).Me,
		op.OverQuota)

	AccountEvents = op.AddStream(Ops, "account.events", "GET /v1/events",
		"Stream which records change in your workspaces.", op.Account, op.NoTool, (*Service).ListenAccount,
		op.ServerOnly)

	AccountUpdate = op.Add(Ops, "account.update", "PATCH /v1/me", "Change your name.", op.Person, op.NoTool,
		(*Service).UpdateAccount)
	AccountPassword = op.Add(Ops, "account.password", "POST /v1/me/password",
		"Change your password. The other browsers are signed out.", op.Person, op.NoTool, (*Service).ChangePassword,
		op.ServerOnly)

	AccountVerify = op.Add(Ops, "account.verify", "POST /v1/me/verify",
		"Send the mail that verifies your address again.", op.Person, op.NoTool, (*Service).SendVerification,
		op.ServerOnly)

	AccountDelete = op.Add(Ops, "account.delete", "POST /v1/me/delete",
		"Delete your account with your personal workspace. This cannot be undone.", op.Person, op.NoTool,
		(*Service).DeleteAccount, op.Destructive, op.OverQuota, op.ServerOnly)

	KeyList = op.Add(Ops, "key.list", "GET /v1/api-keys", "List your API keys, including revoked ones.", op.Person,
		op.NoTool, (*Service).ListKeys, op.OverQuota)
	KeyCreate = op.Add(Ops, "key.create", "POST /v1/api-keys", "Create an API key. It is shown once.", op.Person,
		op.NoTool, (*Service).CreateKey, op.Creates)
	KeyRevoke = op.Add(Ops, "key.revoke", "DELETE /v1/api-keys/{keyId}",
		"Revoke an API key. This cannot be undone.", op.Person, op.NoTool, (*Service).RevokeKey, op.Destructive,
		op.OverQuota)

	AgentList = op.Add(Ops, "agent.list", "GET /v1/agents", "List the agents of the members of a workspace.",
		op.Account, op.ToolFull, (*Service).ListAgents, op.ServerOnly)
	AgentSend = op.Add(Ops, "agent.send", "POST /v1/agent-messages",
		"Send a message to an agent, or to all agents of a workspace.", op.Agent, op.ToolFull, (*Service).SendMessage,
		op.Creates, op.ServerOnly)
	AgentInbox = op.Add(Ops, "agent.inbox", "GET /v1/agent-messages/inbox",
		"List the messages that you have received, newest first.", op.Agent, op.ToolFull, (*Service).ListInbox,
		op.ServerOnly)
	AgentSent = op.Add(Ops, "agent.sent", "GET /v1/agent-messages/sent",
		"List the messages that you sent, newest first, with the receipts of their recipients.", op.Agent, op.NoTool,
		(*Service).ListSent, op.ServerOnly)
	AgentMessages = op.Add(Ops, "agent.messages", "GET /v1/agents/{agentId}/messages",
		"List the messages that an agent of yours sent or received, newest first.", op.Person, op.NoTool,
		(*Service).ListAgentMessages, op.ServerOnly)
	AgentAcknowledge = op.Add(Ops, "agent.acknowledge", "POST /v1/agent-messages/{messageId}/acknowledge",
		"Mark a message as read.", op.Agent, op.ToolFull, (*Service).AcknowledgeMessage, op.ServerOnly, op.Idempotent)
	AgentClose = op.Add(Ops, "agent.close", "POST /v1/agent-messages/{messageId}/close", "Mark a message as done.",
		op.Agent, op.ToolFull, (*Service).CloseMessage, op.ServerOnly, op.Idempotent)
	AgentEvents = op.AddStream(Ops, "agent.events", "GET /v1/agent-messages/events",
		"Stream the messages that you receive.", op.Agent, op.NoTool, (*Service).ListenAgent, op.ServerOnly)

	FileExchange = op.Add(Ops, "file.exchange", "POST /functions/v1/loci/auth/exchange",
		"Exchange an API key for a token for files.", op.Account, op.NoTool, (*Service).ExchangeFileToken,
		op.ServerOnly)
	AttachmentUpload = op.Add(Ops, "attachment.upload", "POST /functions/v1/loci/storage/upload-url",
		"Announce a file of a memory, and get the address for its bytes.", op.File, op.NoTool,
		(*Service).UploadAttachment, op.Creates)
	AttachmentConfirm = op.Add(Ops, "attachment.confirm", "POST /functions/v1/loci/storage/confirm-upload",
		"Add an uploaded file to its memory.", op.File, op.NoTool, (*Service).ConfirmAttachment)
	AttachmentDownload = op.Add(Ops, "attachment.download", "GET /functions/v1/loci/storage/download-url",
		"Get an address of a file of a memory: download it within 15 minutes, without a key.", op.File, op.ToolStable,
		(*Service).DownloadAttachment)
	AttachmentDelete = op.Add(Ops, "attachment.delete", "POST /functions/v1/loci/storage/delete-objects",
		"Delete files of memories. This cannot be undone.", op.File, op.NoTool, (*Service).DeleteAttachments,
		op.Destructive)

	SessionStart = op.Add(Ops, "session.start", "POST /v1/sessions",
		"Start a session that records the work on a task, and read what is known.", op.Account, op.ToolFull,
		(*Service).StartSession, op.MayCreate)
	SessionList = op.Add(Ops, "session.list", "GET /v1/sessions", "List sessions, newest first.", op.Account,
		op.ToolFull, (*Service).ListSessions)
	SessionBulk = op.Add(Ops, "session.bulk", "POST /v1/sessions/bulk", "Archive, restore or delete sessions.",
		op.Account, op.NoTool, (*Service).BulkSessions, op.Destructive)
	SessionCandidates = op.Add(Ops, "session.candidates", "GET /v1/sessions/candidates",
		"List candidates for memories, newest first.", op.Account, op.ToolFull, (*Service).ListCandidates)
	SessionReview = op.Add(Ops, "session.review", "POST /v1/sessions/candidates/moderate",
		"Compile, dismiss or revert candidates.", op.Account, op.NoTool, (*Service).ModerateCandidates)
	SessionGet = op.Add(Ops, "session.get", "GET /v1/sessions/{sessionId}",
		"Read a session with its parts and what is known.", op.Account, op.ToolFull, (*Service).GetSession)
	SessionCapture = op.Add(Ops, "session.capture", "POST /v1/sessions/{sessionId}/candidates",
		"Propose a memory in a session. Finalizing the session stores it, unless it is dismissed.", op.Account,
		op.ToolFull, (*Service).CaptureCandidate, op.MayCreate)
	SessionCheckpoint = op.Add(Ops, "session.checkpoint", "POST /v1/sessions/{sessionId}/checkpoints",
		"Note the progress of a session.", op.Account, op.ToolFull, (*Service).AddCheckpoint, op.Creates)
	SessionFinalize = op.Add(Ops, "session.finalize", "POST /v1/sessions/{sessionId}/finalize",
		"End a session: its pending candidates become memories.", op.Account, op.ToolFull,
		(*Service).FinalizeSession, op.Idempotent)
	SessionModerate = op.Add(Ops, "session.moderate",
		"POST /v1/sessions/{sessionId}/candidates/{candidateId}/moderate", "Compile, dismiss or revert a candidate.",
		op.Account, op.ToolFull, (*Service).ModerateCandidate, op.Idempotent)
	SessionEdit = op.Add(Ops, "session.edit", "PATCH /v1/sessions/{sessionId}/candidates/{candidateId}",
		"Change a pending candidate.", op.Account, op.NoTool, (*Service).EditCandidate)
	SessionComplete = op.Add(Ops, "session.complete", "POST /v1/sessions/{sessionId}/complete",
		"End an automatic session whose units are stored.", op.Account, op.NoTool, (*Service).CompleteSession)
	SessionReopen = op.Add(Ops, "session.reopen", "POST /v1/sessions/{sessionId}/reopen",
		"Make an ended automatic session active again.", op.Account, op.NoTool, (*Service).ReopenSession)
	SessionRevert = op.Add(Ops, "session.revert", "POST /v1/sessions/{sessionId}/automatic-memory/revert",
		"Archive the memory of the unit that was finalized last.", op.Account, op.NoTool, (*Service).RevertSession)
	SessionArchive = op.Add(Ops, "session.archive", "POST /v1/sessions/{sessionId}/archive",
		"Archive a session, or restore it.", op.Account, op.NoTool, (*Service).ArchiveSession)
	SessionEvent = op.Add(Ops, "session.event", "POST /v1/sessions/{sessionId}/events",
		"Deliver an event of an automatic session.", op.Account, op.NoTool, (*Service).SendEvent, op.Accepts)
	SessionCompile = op.Add(Ops, "session.compile", "POST /v1/sessions/{sessionId}/compile",
		"Record what a bridge made of events.", op.Account, op.NoTool, (*Service).RecordCompilation, op.Creates)
	UnitOpen = op.Add(Ops, "unit.open", "POST /v1/sessions/{sessionId}/units",
		"Open a unit, one task of an automatic session, or resume it.", op.Account, op.NoTool, (*Service).OpenUnit,
		op.MayCreate)
	UnitFinalize = op.Add(Ops, "unit.finalize", "POST /v1/sessions/{sessionId}/units/{unitId}/finalize",
		"Store the result of a unit as its memory.", op.Account, op.NoTool, (*Service).FinalizeUnit)

	AutoGet = op.Add(Ops, "auto.get", "GET /v1/auto", "Show your automatic memory in a workspace.", op.Account,
		op.NoTool, (*Service).GetPolicy)
	AutoSet = op.Add(Ops, "auto.set", "PUT /v1/auto?workspace_id",
		"Switch automatic memory on, pause it or route it.", op.Account, op.NoTool,
		(*Service).SetPolicy)
	AutoAudit = op.Add(Ops, "auto.audit", "POST /v1/auto/redaction-audits",
		"Record what was redacted from an event, without its content.", op.Account, op.NoTool, (*Service).RecordAudit,
		op.MayCreate)

	SignInList = op.Add(Ops, "signin.list", "GET /v1/sign-ins", "List the browsers that are signed in.", op.Person,
		op.NoTool, (*Service).ListSignIns, op.OverQuota, op.ServerOnly)
	SignInRevoke = op.Add(Ops, "signin.revoke", "DELETE /v1/sign-ins/{signinId}", "Sign a browser out.", op.Person,
		op.NoTool, (*Service).RevokeSignIn, op.OverQuota, op.ServerOnly)

	GrantList = op.Add(Ops, "grant.list", "GET /v1/grants", "List the programs that you let use your workspaces.",
		op.Person, op.NoTool, (*Service).ListGrants, op.OverQuota, op.ServerOnly)
	GrantRevoke = op.Add(Ops, "grant.revoke", "DELETE /v1/grants/{grantId}",
		"End the access of a program. It asks you to sign in again.", op.Person, op.NoTool, (*Service).RevokeGrant,
		op.Destructive, op.OverQuota, op.ServerOnly)

	ReferralGet = op.Add(Ops, "referral.get", "GET /v1/referrals/me",
		"Show your referral link and the people who registered with it.", op.Account, op.NoTool,
		(*Service).GetReferrals, op.ServerOnly)
	BenefitList = op.Add(Ops, "benefit.list", "GET /v1/benefits/me", "List your benefits, newest first.", op.Account,
		op.NoTool, (*Service).ListBenefits, op.OverQuota, op.ServerOnly)
	BenefitActivate = op.Add(Ops, "benefit.activate", "POST /v1/benefits/{benefitId}/activate",
		"Use a benefit: your plan is pro for its days.", op.Account, op.NoTool, (*Service).ActivateBenefit,
		op.OverQuota, op.ServerOnly, op.ChangesPlan)

	AuthRegister = op.Add(Ops, "auth.register", "POST /v1/auth/register", "Create an account and sign in.", op.Public,
		op.BrowserOnly, (*Service).Register, op.MayCreate)
	AuthSetup = op.Add(Ops, "auth.setup", "POST /v1/auth/setup",
		"Create the first account with the one-time setup token.", op.Public, op.BrowserOnly, (*Service).SetUp,
		op.MayCreate)
	AuthLogin = op.Add(Ops, "auth.login", "POST /v1/auth/login", "Sign in with a password.", op.Public, op.BrowserOnly,
		(*Service).SignIn, op.MayCreate)
	AuthLogout = op.Add(Ops, "auth.logout", "POST /v1/auth/logout", "Sign out.", op.Account, op.BrowserOnly,
		(*Service).SignOut, op.OverQuota)
	AuthVerify = op.Add(Ops, "auth.verify", "POST /v1/auth/verify", "Verify an address with the link of a mail.",
		op.Public, op.BrowserOnly, (*Service).VerifyAddress)
	AuthForgot = op.Add(Ops, "auth.forgot", "POST /v1/auth/forgot", "Send a link to choose a new password.", op.Public,
		op.BrowserOnly, (*Service).ForgotPassword)
	AuthReset = op.Add(Ops, "auth.reset", "POST /v1/auth/reset",
		"Choose a new password with the link of a mail. All browsers are signed out.", op.Public, op.BrowserOnly,
		(*Service).ResetPassword)
)

// VariantNames are the values of LOCI_CONTRACT, the default first.
var VariantNames = []string{"full", "a", "b"}

// Variants are the variants of the contract by name. Variant a deletes atlases and workspaces without archiving them;
// variant b archives them, and deletes neither them nor memories.
var Variants = map[string]op.Variant{
	"full": {},
	"a": {Omitted: []string{AtlasArchive.Name, WorkspaceArchive.Name},
		Stable: []string{AtlasDelete.Name, WorkspaceDelete.Name}},
	"b": {Omitted: []string{MemoryDelete.Name, AtlasDelete.Name, WorkspaceDelete.Name}, Full: op.StableTools},
}
