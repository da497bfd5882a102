CREATE TABLE meta (
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY ("key")
)

CREATE TABLE cubes (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	id TEXT NOT NULL, 
	position BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT, 
	tier TEXT NOT NULL, 
	state TEXT NOT NULL, 
	session_id TEXT, 
	event_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	version INTEGER NOT NULL, 
	document TEXT NOT NULL, tags TEXT, checksum BIGINT, mark TEXT, 
	PRIMARY KEY (tenant, id)
)

CREATE INDEX cubes_by_owner ON cubes (tenant, user_id, agent_id, namespace, kind, tier, position)

CREATE UNIQUE INDEX cubes_by_position ON cubes (tenant, user_id, agent_id, namespace, position)

CREATE TABLE versions (
	tenant TEXT NOT NULL, 
	cube_id TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	document TEXT NOT NULL, checksum BIGINT, packed BLOB, base INTEGER, 
	PRIMARY KEY (tenant, cube_id, version), 
	FOREIGN KEY(tenant, cube_id) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE TABLE links (
	tenant TEXT NOT NULL, 
	source TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	target TEXT NOT NULL, 
	PRIMARY KEY (tenant, source, kind, target), 
	FOREIGN KEY(tenant, source) REFERENCES cubes (tenant, id) ON DELETE CASCADE, 
	FOREIGN KEY(tenant, target) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE INDEX links_by_target ON links (tenant, target, kind, source)

CREATE UNIQUE INDEX links_one_segment ON links (tenant, source) WHERE kind = 'member_of'

CREATE TABLE vectors (
	tenant TEXT NOT NULL, 
	cube_id TEXT NOT NULL, 
	part INTEGER NOT NULL, 
	data BLOB NOT NULL, checksum BIGINT, 
	PRIMARY KEY (tenant, cube_id, part), 
	FOREIGN KEY(tenant, cube_id) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE TABLE events (
	sequence INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	at BIGINT NOT NULL, 
	operation TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	cube_id TEXT NOT NULL, 
	version INTEGER NOT NULL
, detail TEXT)

CREATE INDEX events_by_owner ON events (tenant, user_id, agent_id, namespace, sequence)

CREATE INDEX events_by_cube ON events (tenant, cube_id, sequence)

CREATE TABLE passages (
	tenant TEXT NOT NULL, 
	cube_id TEXT NOT NULL, 
	part INTEGER NOT NULL, 
	said_at BIGINT NOT NULL, 
	speaker TEXT, 
	marks INTEGER NOT NULL, 
	words TEXT NOT NULL, 
	vector BLOB NOT NULL, turn INTEGER, start INTEGER, "end" INTEGER, checksum BIGINT, 
	PRIMARY KEY (tenant, cube_id, part), 
	FOREIGN KEY(tenant, cube_id) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE TABLE notes (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (tenant, user_id, agent_id, namespace, "key")
)

CREATE TABLE usage (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	day BIGINT NOT NULL, 
	purpose TEXT NOT NULL, 
	model TEXT NOT NULL, 
	calls BIGINT NOT NULL, 
	prompt_tokens BIGINT NOT NULL, 
	completion_tokens BIGINT NOT NULL, 
	cost BIGINT NOT NULL, cached_tokens BIGINT DEFAULT '0' NOT NULL, 
	PRIMARY KEY (tenant, user_id, agent_id, namespace, day, purpose, model)
)

CREATE TABLE next_vectors (
	tenant TEXT NOT NULL, 
	cube_id TEXT NOT NULL, 
	part INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	data BLOB NOT NULL, 
	PRIMARY KEY (tenant, cube_id, part), 
	FOREIGN KEY(tenant, cube_id) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE TRIGGER cubes_checksum AFTER UPDATE OF document ON cubes WHEN OLD.checksum IS NEW.checksum AND (OLD.document IS NOT NEW.document) BEGIN UPDATE cubes SET checksum = NULL WHERE rowid = NEW.rowid; END

CREATE TRIGGER vectors_checksum AFTER UPDATE OF data ON vectors WHEN OLD.checksum IS NEW.checksum AND (OLD.data IS NOT NEW.data) BEGIN UPDATE vectors SET checksum = NULL WHERE rowid = NEW.rowid; END

CREATE TRIGGER passages_checksum AFTER UPDATE OF words, vector ON passages WHEN OLD.checksum IS NEW.checksum AND (OLD.words IS NOT NEW.words OR OLD.vector IS NOT NEW.vector) BEGIN UPDATE passages SET checksum = NULL WHERE rowid = NEW.rowid; END

CREATE TABLE "jobs" (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	cube_id TEXT, 
	state TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	created_at BIGINT NOT NULL, 
	lease_until BIGINT, 
	error TEXT, 
	priority INTEGER DEFAULT '0' NOT NULL, 
	not_before BIGINT, 
	payload TEXT, 
	PRIMARY KEY (tenant, id), 
	FOREIGN KEY(tenant, cube_id) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE INDEX jobs_by_owner ON jobs (tenant, user_id, agent_id, namespace, state, created_at)

CREATE INDEX jobs_by_state ON jobs (state, tenant, user_id, agent_id, namespace)

CREATE TABLE blobs (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	name TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	size BIGINT NOT NULL, 
	media_type TEXT, 
	remove_at BIGINT, 
	PRIMARY KEY (tenant, name)
)

CREATE TABLE attached (
	tenant TEXT NOT NULL, 
	cube_id TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	PRIMARY KEY (tenant, cube_id, sha256), 
	FOREIGN KEY(tenant, cube_id) REFERENCES cubes (tenant, id) ON DELETE CASCADE
)

CREATE INDEX blobs_by_owner ON blobs (tenant, user_id, agent_id, namespace, sha256)

CREATE INDEX attached_by_blob ON attached (tenant, sha256)

CREATE TABLE audit (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	at BIGINT NOT NULL, 
	caller TEXT NOT NULL, 
	context TEXT, 
	action TEXT NOT NULL, 
	operation TEXT NOT NULL, 
	change TEXT, 
	cubes TEXT, 
	decision TEXT NOT NULL, 
	reason TEXT, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (tenant, user_id, agent_id, namespace, number)
)

CREATE TABLE audit_heads (
	tenant TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	namespace TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	hash TEXT NOT NULL, 
	PRIMARY KEY (tenant, user_id, agent_id, namespace)
)

CREATE INDEX audit_by_time ON audit (tenant, at)

CREATE INDEX cubes_by_end ON cubes (tenant, user_id, agent_id, namespace, expires_at) WHERE expires_at IS NOT NULL

CREATE INDEX cubes_expired ON cubes (tenant, user_id, agent_id, namespace) WHERE state = 'expired'

CREATE TABLE keys (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	identity TEXT NOT NULL, 
	roles TEXT NOT NULL, 
	actions TEXT NOT NULL, 
	users TEXT, 
	created_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	revoked_at BIGINT, purposes TEXT, application TEXT, session TEXT, 
	PRIMARY KEY (tenant, id)
)

CREATE TABLE delegations (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	delegator TEXT NOT NULL, 
	roles TEXT NOT NULL, 
	delegate TEXT NOT NULL, 
	actions TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT NOT NULL, 
	PRIMARY KEY (tenant, id)
)

CREATE INDEX delegations_by_delegate ON delegations (tenant, delegate)

CREATE TABLE role_grants (
	tenant TEXT NOT NULL, 
	id TEXT NOT NULL, 
	identity TEXT NOT NULL, 
	name TEXT NOT NULL, 
	roles TEXT NOT NULL, 
	granted_by TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, 
	PRIMARY KEY (tenant, id)
)

CREATE INDEX role_grants_by_identity ON role_grants (tenant, identity)

CREATE INDEX keys_by_id ON keys (id)
